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
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from stages._steps import run_steps

from andrea.common import paths
from andrea.config import tree
from andrea.scratch import resume
from andrea.training import loop, watch
from andrea.watching import cliff
from stages import _regime

PARTS: tuple[tuple[str, Any, str], ...] = (
    ("looking at losses", cliff, "observe"),
    ("samples", watch, "_sample"),
    ("probes of the watch", watch, "_read"),
    ("checkpoints", resume, "save"),
    ("probes of the reward", loop, "read_probe"),
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
    seconds: dict[str, float] = defaultdict(float)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "data").mkdir()
        for given_path in (paths.RAW, paths.SHARDS, paths.TOKENIZER.parent):
            (here / given_path).symlink_to(Path.cwd() / given_path)
        os.chdir(here)
        with patch("stages._steps.live", _untold):
            _regime.train(config, "warmup")
            for name, place, function in PARTS:
                setattr(place, function, _timed(name, getattr(place, function), seconds))
            with patch("stages._regime.run_steps", _timed("all", run_steps, seconds)):
                _regime.train(config, "firehose")
    total = seconds.pop("all")
    for name, spent in seconds.items():
        print(f"{name:24} {spent:8.3f} s  {100 * spent / total:6.2f} %")
    reward = seconds["probes of the reward"]
    rest = sum(seconds.values()) - reward
    print(f"{'watching and keeping':24} {rest:8.3f} s  {100 * rest / total:6.2f} %")
    print(f"{'training':24} {total:8.3f} s  {given.steps / total:6.2f} steps per second")


@contextmanager
def _untold(*_: object) -> Iterator[SimpleNamespace]:
    """Stands for MLflow, which has a thread of its own."""
    yield SimpleNamespace(log=lambda *_: None, saw=lambda *_: None)


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
