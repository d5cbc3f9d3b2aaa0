from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from andrea.config.training import Watch
from andrea.mixture.simplex import Region
from andrea.training import checkpoint, watch
from andrea.training.loop import run_regime
from andrea.training.records import StepStats
from andrea.training.run import Run
from andrea.training.state import TrainState
from andrea.training.watch import HaltError, Watcher, WatchState
from andrea.watching.cliff import CliffState, Drop
from tests.runs import new
from tests.stored import stored

CLIFF_STEP = 12


@pytest.fixture
def watcher() -> Watcher:
    """Two prompts at every fourth step."""
    return Watcher(
        Watch(
            enabled=True, sample_every=4, sample_tokens=16, sample_temperature=0.8,
            sample_top_k=50, prompts=("", "a"), degenerate_in_a_row=5, on_cliff="report",
            cliff_ratio=0.5,
        ),
        "halt",
        ["a/train.bin", "b/train.bin", "c/train.bin"],
        [np.array([256]), np.array([256, 97])],
        frozenset({"a"}),
        lambda ids: " ".join(map(str, ids)),
        256,
    )  # fmt: skip


def on_cliff(watcher: Watcher, action: str) -> Watcher:
    return replace(watcher, cfg=replace(watcher.cfg, on_cliff=action))


def watched(
    regimes: Sequence[Run], watcher: Watcher
) -> Iterator[tuple[TrainState, WatchState, StepStats]]:
    """Train and look, by way of JSON after every step."""
    training, seen = new(regimes[0]), None
    for regime in regimes:
        seen = seen.next_regime() if seen else watch.init(3)
        for stats in run_regime(training, regime):
            watch.look(seen, watcher, stats, training, regime)
            seen = stored(seen)
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
    regimes: list[Run], watcher: Watcher, tmp_path: Path
) -> None:
    *_, (training, seen, _) = watched(regimes, watcher)
    alone = new(regimes[0])
    for regime in regimes:
        for _ in run_regime(alone, regime):
            pass
    for name, which in (("watched", training), ("alone", alone)):
        checkpoint.save(tmp_path / name, which, {})
    assert (tmp_path / "watched").read_bytes() == (tmp_path / "alone").read_bytes()
    assert seen.samples
    assert seen.readings


def test_samples_and_readings_come_at_their_steps(regimes: list[Run], watcher: Watcher) -> None:
    told = [
        (stats.step, len(seen.samples), len(seen.readings))
        for _, seen, stats in watched(regimes[:1], watcher)
    ]
    assert [step for step, samples, _ in told if samples == 2] == [3, 4, 5, 6]
    assert told[-1] == (9, 4, 2)
    *_, (_, seen, _) = watched(regimes[:1], watcher)
    row = seen.readings[-1]
    assert row["gap.first"] == row["probe.first"] - row["smoothed.first"]
    assert row["probe.third"] is row["gap.third"] is None, "warmup excludes it"


def test_an_excluded_source_is_never_drawn_again(
    regimes: list[Run], watcher: Watcher, planted: None
) -> None:
    cautious = on_cliff(watcher, "exclude")
    after = 0
    for training, seen, stats in watched(regimes, cautious):
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
            assert len(alarm["text"].split()) == regimes[0].scale.context
    assert after > 20
    assert training.region == (2, 1)


def test_a_source_that_nothing_can_stand_in_for_stays(
    run: Run, watcher: Watcher, planted: None
) -> None:
    only = replace(run, region=Region(np.zeros(3), np.array([0.5, 1.0, 0.0])), end_step=20)
    cautious = on_cliff(watcher, "exclude")
    *_, (training, seen, _) = watched([only], cautious)
    assert training.excluded == ()
    assert seen.alarms[0]["action"].startswith("report: without it")


def test_a_cliff_may_halt_the_run(regimes: list[Run], watcher: Watcher, planted: None) -> None:
    strict = on_cliff(watcher, "halt")
    with pytest.raises(HaltError, match=f"step {CLIFF_STEP}: cliff in second"):
        list(watched(regimes, strict))


def test_five_degenerate_samples_in_a_row_halt_the_run_past_warmup(
    regimes: list[Run], watcher: Watcher, parrot: None
) -> None:
    *_, (_, seen, _) = watched(regimes[:1], watcher)
    assert all(sample["degenerate"] for sample in seen.samples)
    assert not seen.alarms, "a young network is not judged"
    with pytest.raises(HaltError, match="step 19: 5 degenerate samples in a row, such as '7 7"):
        list(watched(regimes, watcher))
    lenient = replace(watcher, on_degenerate="report")
    *_, (_, seen, _) = watched(regimes, lenient)
    assert [alarm["count"] for alarm in seen.alarms] == [10, 15]
