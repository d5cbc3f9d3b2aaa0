"""What each recipe comes to: `python -m bench.recipes` trains v1, v2 and v3 from several seeds.

Every run is that of the line `dvc exp run -n <recipe> -S ...` in docs/recipes.md, on one thread in
a folder of its own, with the tokenizer and the shards that `dvc repro` has made; an alarm is
reported, not acted on. Nine runs of the laptop scale take some 40 minutes on two cores; what a
folder already holds is not run again.

    python -m bench.recipes [--seeds 7 8 9] [--recipes v1 v2 v3] [-S KEY=VALUE ...] [--jobs 2]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from andrea.common import paths, tables
from andrea.config import tree
from andrea.config.override import override
from andrea.config.reading import load
from andrea.config.training import REGIMES
from andrea.watching import original, recorded

RECIPES: dict[str, tuple[str, ...]] = {
    "v1": (
        "optimizer.lr_warmup=0", "optimizer.grad_clip=0", "optimizer.weight_decay=0",
        "warmup.end=0", "firehose.end=1.0", "scales.laptop.bigram_init=0", "bandit.reward=ema",
        "limits.on_degenerate=report",
    ),
    "v2": ("firehose.end=1.0",),
    "v3": (),
}  # fmt: skip
ROOT = Path(__file__).parents[1]
ORIGINAL_IN_A_ROW = 5
EMPTY = pd.DataFrame({"step": [], "loss": []})
STAGES = (*REGIMES, "evaluate")


@dataclass(frozen=True)
class Outcome:
    """One run in a row of the table; steps are those at which something was seen first."""

    run: str
    last_loss: float
    largest_loss: float
    skipped: int
    cliffs: int
    gaps: int
    degenerate_share: float
    halts: int | None
    original_halts: int | None
    macro: float | None


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[7, 8, 9])
    parser.add_argument("--recipes", nargs="+", choices=RECIPES, default=list(RECIPES))
    parser.add_argument("-S", dest="change", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--name", default="", help="of the runs with these changes")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/andrea-recipes"))
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    runs = [(recipe, seed) for seed in given.seeds for recipe in given.recipes]
    with ThreadPoolExecutor(given.jobs) as pool:
        outcomes = pool.map(
            lambda run: train(given.folder, run[0], run[1], given.change, given.name), runs
        )
        print(
            "| run | last loss | largest loss after 500 | skipped | cliffs | gaps | degenerate |"
            " ours halts | original's rule halts | macro bits per byte |\n" + "|---" * 10 + "|"
        )
        for outcome in outcomes:
            cells = (_cell(value) for value in vars(outcome).values())
            print("| " + " | ".join(cells) + " |", flush=True)


def train(folder: Path, recipe: str, seed: int, more: Sequence[str], name: str) -> Outcome:
    """One run of a recipe, and what it came to."""
    run = f"{recipe}{name}-{seed}"
    here = folder / run
    (here / paths.SHARDS.parent).mkdir(parents=True, exist_ok=True)
    for given in (paths.RAW, paths.SHARDS, paths.TOKENIZER.parent, paths.REPORTS / "baselines"):
        link = here / given
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(ROOT / given)
    changes = [f"seed={seed}", "compute.threads=1", "limits.on_degenerate=report", *RECIPES[recipe]]
    params = override(load(ROOT / paths.PARAMS), [*changes, *more])
    config = tree.read(params)
    (here / paths.PARAMS).write_text(json.dumps(params), encoding="utf-8")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    environment.pop("DVC_ROOT", None)
    with (here / "log.txt").open("a") as log:
        for stage in STAGES:
            if not (here / paths.REPORTS / stage / "metrics.json").exists():
                command = [sys.executable, "-m", f"stages.{stage}"]
                done = subprocess.run(command, cwd=here, env=environment, stdout=log, stderr=log)
                if done.returncode:
                    print(f"{run}: {stage} failed, see {here / 'log.txt'}", file=sys.stderr)
                    break
    return outcome(here, run, grown=config.warmup.end * config.scale.steps)


def outcome(here: Path, run: str, grown: float) -> Outcome:
    """Read a run's reports; of one that stopped, as far as they go.

    Args:
        here: folder of the run.
        run: its name.
        grown: step from which degenerate samples count.
    """
    reports = [here / paths.REPORTS / name for name in REGIMES]
    seen = [recorded.read(report) for report in reports]
    histories = [report / "history.csv" for report in reports]
    rows = pd.concat([tables.read(path) for path in histories if path.exists()] or [EMPTY])
    samples = [sample for part in seen for sample in part.samples]
    late = [sample for sample in samples if sample["step"] >= grown]
    alarms = [alarm for part in seen for alarm in part.alarms]
    kinds = [alarm["kind"] for alarm in alarms]
    halts = [alarm["step"] for alarm in alarms if alarm["kind"] == "degenerate"]
    metrics = here / paths.REPORTS / "evaluate" / "metrics.json"
    return Outcome(
        run,
        float(rows["loss"].iloc[-1]) if len(rows) else math.nan,
        float(rows["loss"][rows["step"] >= 500].max()),
        kinds.count("skipped"),
        kinds.count("cliff"),
        kinds.count("gap"),
        sum(sample["degenerate"] for sample in late) / max(1, len(late)),
        min(halts, default=None),
        _in_a_row([s["original_score"] < original.BAD for s in samples], samples),
        json.loads(metrics.read_text())["polish"]["macro_mean"] if metrics.exists() else None,
    )


def _in_a_row(bad: Sequence[bool], samples: Sequence[dict[str, float]]) -> int | None:
    count = 0
    for is_bad, sample in zip(bad, samples, strict=True):
        count = count + 1 if is_bad else 0
        if count == ORIGINAL_IN_A_ROW:
            return int(sample["step"])
    return None


def _cell(value: object) -> str:
    if value is None:
        return "never"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
