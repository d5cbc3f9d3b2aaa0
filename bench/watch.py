"""What it costs to watch a run and to keep it: `python -m bench.watch` prints shares of its time.

Some hundred steps of the firehose regime are trained as `dvc repro` trains them, with the intervals
of `params.yaml`, from fresh weights and on the shards that `dvc repro` has made. Watching, samples
and checkpoints together should stay under 3 % of the time, the probes of the reward under 7 %.

    python -m bench.watch [--steps 1000] [-S KEY=VALUE ...]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

from andrea.common import paths
from andrea.config import tree
from andrea.scratch import resume
from andrea.training import loop, regime, trainer, watch
from andrea.training.tracker import NullTracker
from andrea.watching import cliff

ALL, WATCH, KEEP, REWARD = "training", "watching", "checkpoints", "probes of the reward"
PARTS: tuple[tuple[str, Any, str], ...] = (
    (ALL, trainer.Trainer, "train"),
    (WATCH, watch, "look"),
    ("  of it, losses", cliff, "observe"),
    ("  of it, samples", watch, "generate"),
    ("  of it, probes", watch, "read_probe"),
    (KEEP, resume, "save"),
    (REWARD, loop, "read_probe"),
)


def main() -> None:
    """Train, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("-S", dest="change", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    steps = f"scales.{tree.load(paths.PARAMS).scale_name}.steps={given.steps}"
    changes = [steps, "warmup.end=0", "firehose.end=1.0", *given.change]
    config = tree.load(paths.PARAMS, changes)
    seconds = {name: 0.0 for name, _, _ in PARTS}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "data").mkdir()
        for given_path in (paths.RAW, paths.SHARDS, paths.TOKENIZER.parent):
            (here / given_path).symlink_to(Path.cwd() / given_path)
        os.chdir(here)
        regime.train(config, "warmup", nullcontext(NullTracker()))
        for name, place, function in PARTS:
            setattr(place, function, _timed(name, getattr(place, function), seconds))
        regime.train(config, "firehose", nullcontext(NullTracker()))
    seconds["watching and keeping"] = seconds[WATCH] + seconds[KEEP]
    for name, spent in seconds.items():
        print(f"{name:24} {spent:8.3f} s  {100 * spent / seconds[ALL]:6.2f} %")
    print(f"{given.steps / seconds[ALL]:.2f} steps per second")


def _timed(name: str, call: Callable[..., Any], seconds: dict[str, float]) -> Callable[..., Any]:
    def timed(*arguments: Any, **named: Any) -> Any:
        start = perf_counter()
        try:
            return call(*arguments, **named)
        finally:
            seconds[name] += perf_counter() - start

    return timed


if __name__ == "__main__":
    main()
