from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from andrea.config.training import Watch
from andrea.mixture.simplex import Region
from andrea.training import checkpoint, state, watch
from andrea.training.loop import Data, Regime, Settings, run_regime
from andrea.training.records import StepStats
from andrea.training.state import TrainState
from andrea.training.watch import Eyes, HaltError, WatchState
from andrea.watching.cliff import CliffState, Drop

CLIFF_STEP = 12


@pytest.fixture
def eyes() -> Eyes:
    """Two prompts at every fourth step."""
    return Eyes(
        Watch(
            enabled=True, sample_every=4, sample_tokens=16, sample_temperature=0.8,
            sample_top_k=50, prompts=("", "a"), on_degenerate="halt", degenerate_in_a_row=5,
            on_cliff="report", cliff_ratio=0.5, max_epochs=20,
        ),
        ["first", "second", "third"],
        ["a/train.bin", "b/train.bin", "c/train.bin"],
        [np.array([256]), np.array([256, 97])],
        frozenset({"a"}),
        lambda ids: " ".join(map(str, ids)),
        256,
    )  # fmt: skip


def watched(
    settings: Settings, data: Data, regimes: Sequence[Regime], eyes: Eyes
) -> Iterator[tuple[TrainState, WatchState, StepStats]]:
    """Train and look, by way of JSON after every step."""
    training, seen = state.new(settings.scale, settings.optimizer, 3, settings.seed, "cpu"), None
    for regime in regimes:
        seen = seen.next_regime() if seen else watch.init(3)
        for stats in run_regime(training, regime, data, settings):
            watch.look(seen, eyes, stats, training, regime, data, settings)
            seen = WatchState.from_json(json.loads(json.dumps(seen.to_json())))
            yield training, seen, stats


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sequence of the second source is taken for a cliff."""

    def observe(seen: CliffState, *_: Any) -> tuple[CliffState, list[Drop], None]:
        here = next(steps) == CLIFF_STEP
        return seen, [Drop(0, 1, 0.1, 4.0, -9.0)] if here else [], None

    steps = count()
    monkeypatch.setattr(watch.cliff, "observe", observe)
    monkeypatch.setattr(watch.cliff, "confirmed", lambda *_: True)


@pytest.fixture
def parrot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sample says one word again and again."""
    monkeypatch.setattr(watch, "generate", lambda *_: np.full((2, 16), 7))


def test_a_run_has_the_same_weights_watched_or_not(
    settings: Settings, data: Data, regimes: list[Regime], eyes: Eyes, tmp_path: Path
) -> None:
    *_, (training, seen, _) = watched(settings, data, regimes, eyes)
    alone = state.new(settings.scale, settings.optimizer, 3, settings.seed, "cpu")
    for regime in regimes:
        for _ in run_regime(alone, regime, data, settings):
            pass
    for name, which in (("watched", training), ("alone", alone)):
        checkpoint.save(tmp_path / name, which, {})
    assert (tmp_path / "watched").read_bytes() == (tmp_path / "alone").read_bytes()
    assert seen.samples
    assert seen.readings


def test_samples_and_readings_come_at_their_steps(
    settings: Settings, data: Data, regimes: list[Regime], eyes: Eyes
) -> None:
    told = [
        (stats.step, len(seen.samples), len(seen.readings))
        for _, seen, stats in watched(settings, data, regimes[:1], eyes)
    ]
    assert [step for step, samples, _ in told if samples == 2] == [3, 4, 5, 6]
    assert told[-1] == (9, 4, 2)
    *_, (_, seen, _) = watched(settings, data, regimes[:1], eyes)
    row = seen.readings[-1]
    assert row["gap.first"] == row["probe.first"] - row["smoothed.first"]
    assert row["probe.third"] is row["gap.third"] is None, "warmup excludes it"


def test_an_excluded_source_is_never_drawn_again(
    settings: Settings, data: Data, regimes: list[Regime], eyes: Eyes, planted: None
) -> None:
    cautious = replace(eyes, cfg=replace(eyes.cfg, on_cliff="exclude"))
    after = 0
    for training, seen, stats in watched(settings, data, regimes, cautious):
        if stats.step > CLIFF_STEP:
            assert training.excluded == (1,)
            after += stats.finished is not None or after > 0
            if after > 1:
                assert stats.sequences[1] == 0
        if stats.step == CLIFF_STEP:
            (alarm,) = seen.alarms
            assert (alarm["source"], alarm["shard"]) == ("second", "b/train.bin")
            assert alarm["action"] == "exclude"
            assert alarm["repeats"] >= 1
            assert len(alarm["text"].split()) == settings.scale.context
    assert after > 20
    assert training.region == (2, 1)


def test_a_source_that_nothing_can_stand_in_for_stays(
    settings: Settings, data: Data, eyes: Eyes, planted: None
) -> None:
    only = Regime(0, Region(np.zeros(3), np.array([0.5, 1.0, 0.0])), 20)
    cautious = replace(eyes, cfg=replace(eyes.cfg, on_cliff="exclude"))
    *_, (training, seen, _) = watched(settings, data, [only], cautious)
    assert training.excluded == ()
    assert seen.alarms[0]["action"].startswith("report: without it")


def test_a_cliff_may_halt_the_run(
    settings: Settings, data: Data, regimes: list[Regime], eyes: Eyes, planted: None
) -> None:
    strict = replace(eyes, cfg=replace(eyes.cfg, on_cliff="halt"))
    with pytest.raises(HaltError, match=f"step {CLIFF_STEP}: cliff in second"):
        list(watched(settings, data, regimes, strict))


def test_five_degenerate_samples_in_a_row_halt_the_run_past_warmup(
    settings: Settings, data: Data, regimes: list[Regime], eyes: Eyes, parrot: None
) -> None:
    *_, (_, seen, _) = watched(settings, data, regimes[:1], eyes)
    assert all(sample["degenerate"] for sample in seen.samples)
    assert not seen.alarms, "a young network is not judged"
    with pytest.raises(HaltError, match="step 19: 5 degenerate samples in a row, such as '7 7"):
        list(watched(settings, data, regimes, eyes))
    lenient = replace(eyes, cfg=replace(eyes.cfg, on_degenerate="report"))
    *_, (_, seen, _) = watched(settings, data, regimes, lenient)
    assert [alarm["count"] for alarm in seen.alarms] == [10, 15]
