from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from andrea.common.files import sha256
from andrea.config import reading
from andrea.config.training import Watch
from andrea.mixture.simplex import Region
from andrea.scratch import differences, inputs
from andrea.training.loop import Regime, Settings

ROOT = Path(__file__).parents[2]
REGIME = Regime(1, Region(np.zeros(2), np.array([1.0, 0.5])), 20)
FILES = {"tokenizer": "t", "train.chat": "a", "probe.chat": "b", "train.irc": "c"}


@pytest.fixture
def watch() -> Watch:
    return reading.section(reading.load(ROOT / "params.yaml"), "watch", Watch)


def describe(settings: Settings, watch: Watch, **changed: Any) -> dict[str, Any]:
    given = {"regime": REGIME, "bigram_init": False, "files": FILES, **changed}
    return inputs.describe(settings, watch=watch, **given)


def test_it_is_plain_and_flat(settings: Settings, watch: Watch) -> None:
    found = describe(settings, watch)
    assert json.loads(json.dumps(found)) == found
    assert not any(isinstance(value, dict) for value in found.values())
    assert found["scale.d_model"] == 16
    assert found["machine.torch"]
    assert found["regime.caps"] == [1.0, 0.5]
    assert found["data.train.irc"] == "c"


def changed(values: Any, name: str) -> Any:
    """Another value of a field."""
    old = getattr(values, name)
    new = {
        bool: lambda: not old,
        str: lambda: old + "x",
        tuple: lambda: (*old, "x"),
    }.get(type(old), lambda: old + 1)()
    return replace(values, **{name: new})


DECIDING = {
    "scale": ["d_model", "lr", "log_every", "micro_batch", "grad_accumulation", "bigram_init"],
    "optimizer": ["beta1", "grad_clip", "warmup", "weight_decay"],
    "bandit": ["rule", "reward", "discount", "probe_rows"],
    "curriculum": ["shortest_phase", "random_share", "eta"],
    "machine": ["device", "dtype", "compile", "threads"],
}


@pytest.mark.parametrize("section", DECIDING)
def test_what_decides_bytes_is_in_it(settings: Settings, watch: Watch, section: str) -> None:
    before = describe(settings, watch)
    for name in DECIDING[section]:
        other = replace(settings, **{section: changed(getattr(settings, section), name)})
        (line,) = differences(before, describe(other, watch))
        assert line.startswith(f"{section}.{name}: ")


def test_seed_regime_data_and_samples_are_in_it(settings: Settings, watch: Watch) -> None:
    before = describe(settings, watch)
    others = {
        "seed": describe(replace(settings, seed=6), watch),
        "regime.end_step": describe(settings, watch, regime=replace(REGIME, end_step=21)),
        "regime.index": describe(settings, watch, regime=replace(REGIME, index=2)),
        "regime.floors": describe(
            settings, watch,
            regime=replace(REGIME, region=Region(np.array([0.1, 0]), REGIME.region.upper)),
        ),
        "regime.head_start": describe(settings, watch, head_start=True),
        "data.tokenizer": describe(settings, watch, files={**FILES, "tokenizer": "u"}),
        "data.order": describe(settings, watch, files=dict(reversed(FILES.items()))),
        "watch.prompts": describe(settings, changed(watch, "prompts")),
        "watch.sample_every": describe(settings, changed(watch, "sample_every")),
        "watch.enabled": describe(settings, changed(watch, "enabled")),
        "watch.on_cliff": describe(settings, replace(watch, on_cliff="exclude")),
    }  # fmt: skip
    for name, other in others.items():
        assert [line.split(":")[0] for line in differences(before, other)] == [name]


def test_what_only_refuses_or_stops_is_not_in_it(settings: Settings, watch: Watch) -> None:
    before = describe(settings, watch)
    assert watch.on_cliff == "report"
    for other in (
        replace(watch, on_degenerate="report"),
        replace(watch, on_degenerate="halt"),
        replace(watch, on_cliff="halt"),
        replace(watch, max_epochs=1.0),
    ):
        assert describe(settings, other) == before
    lenient = replace(settings.curriculum, allow_repeats=True, max_epochs=7.0)
    assert describe(replace(settings, curriculum=lenient), watch) == before


def test_the_code_that_decides_is_in_it() -> None:
    """All that a stage loads, but what only shows, refuses or takes up again."""
    importlib.import_module("stages._regime")
    found = inputs.code()
    decides = ("training.loop", "training.state", "mixture.sampler", "model.gpt", "report.history")
    assert {f"andrea.{name}" for name in decides} <= found.keys()
    assert {"stages._regime", "stages._steps"} <= found.keys()
    assert not any(name.startswith(("andrea.tracking", "andrea.planning")) for name in found)
    assert "andrea.scratch.folder" not in found
    loop = ROOT / "andrea/training/loop.py"
    assert found["andrea.training.loop"] == sha256(loop)
