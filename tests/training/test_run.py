from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from andrea.config import tree
from andrea.config.training import Watch
from andrea.mixture.simplex import Region
from andrea.scratch import inputs
from andrea.scratch.folder import differences
from andrea.training.regime import deciding_values
from andrea.training.run import Run

ROOT = Path(__file__).parents[2]
FILES = {"tokenizer": "t", "train.chat": "a", "probe.chat": "b", "train.irc": "c"}
DECIDING = {
    "scale": ["d_model", "lr", "log_every", "micro_batch", "grad_accumulation", "bigram_init"],
    "optimizer": ["beta1", "grad_clip", "lr_warmup", "weight_decay"],
    "bandit": ["rule", "reward", "discount", "probe_rows"],
    "curriculum": ["shortest_phase", "random_share", "eta"],
    "machine": ["device", "dtype", "compile", "threads"],
}


@pytest.fixture
def watch() -> Watch:
    return tree.load(ROOT / "params.yaml").watch


def described(run: Run, watch: Watch, fresh: bool = False, files: Any = FILES) -> dict[str, Any]:
    """Of a script that imports none of ours, since the code is not what is changed here."""
    values = deciding_values(run, watch, fresh, files)
    return inputs.describe(values, ROOT / "andrea/common/errors.py")


def changed(values: Any, name: str) -> Any:
    """Another value of a field."""
    old = getattr(values, name)
    new = {
        bool: lambda: not old,
        str: lambda: old + "x",
        tuple: lambda: (*old, "x"),
    }.get(type(old), lambda: old + 1)()
    return replace(values, **{name: new})


@pytest.mark.parametrize("section", DECIDING)
def test_what_decides_bytes_is_an_input(run: Run, watch: Watch, section: str) -> None:
    before = described(run, watch)
    for name in DECIDING[section]:
        other = replace(run, **{section: changed(getattr(run, section), name)})
        (line,) = differences(before, described(other, watch))
        assert line.startswith(f"{section}.{name}: ")


def test_seed_regime_data_and_samples_are_inputs(run: Run, watch: Watch) -> None:
    before = described(run, watch)
    floors = Region(np.array([0.1, 0, 0]), run.region.upper)
    others = {
        "seed": described(replace(run, seed=6), watch),
        "regime.end_step": described(replace(run, end_step=21), watch),
        "regime.index": described(replace(run, index=2), watch),
        "regime.floors": described(replace(run, region=floors), watch),
        "regime.bigram_init": described(run, watch, fresh=True),
        "data.tokenizer": described(run, watch, files={**FILES, "tokenizer": "u"}),
        "data.order": described(run, watch, files=dict(reversed(FILES.items()))),
        "watch.prompts": described(run, changed(watch, "prompts")),
        "watch.sample_every": described(run, changed(watch, "sample_every")),
        "watch.enabled": described(run, changed(watch, "enabled")),
        "watch.on_cliff": described(run, replace(watch, on_cliff="exclude")),
    }
    for name, other in others.items():
        assert [line.split(":")[0] for line in differences(before, other)] == [name]


def test_what_only_stops_is_no_input(run: Run, watch: Watch) -> None:
    """All of section `limits` is none, as it is no part of what is described."""
    assert watch.on_cliff == "report"
    assert described(run, replace(watch, on_cliff="halt")) == described(run, watch)
