from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.watching import cliff, robust
from andrea.watching.cliff import CliffState, Drop, PageHinkley
from andrea.watching.repeats import Repeats
from andrea.watching.robust import ENOUGH, LENGTH
from tests.stored import stored

PLANTED = Repeats(documents=60, start=0, length=32, quarter=60)
TABLE = Repeats(documents=2, start=32, length=32, quarter=2)


def history(seed: int = 0, k: int = 2, steps: int = 100) -> CliffState:
    """k sources with losses 4 +- 0.4, four rows a step, gradient norms 1 +- 0.1."""
    rng = np.random.default_rng(seed)
    state = cliff.init(k)
    for step in range(steps):
        nats = rng.normal(4, 0.4, 4)
        state, _, _ = cliff.observe(
            state, np.arange(step, step + 4) % k, nats, rng.normal(1, 0.1), 0.5
        )
    return state


def feed(state: CliffState, source: int, nats: float) -> tuple[CliffState, list[Drop]]:
    return cliff.observe(state, [source], [nats], 1.0, 0.5)[:2]


def test_a_drop_names_row_source_and_distance() -> None:
    state = history()
    median = robust.median(state.losses[1])
    after, drops, z = cliff.observe(state, [0, 1, 1, 0], [4.0, 4.1, 1.0, 3.9], 1.0, 0.5)
    assert z == pytest.approx(0, abs=2)
    assert [(drop.row, drop.source, drop.nats) for drop in drops] == [(2, 1, 1.0)]
    assert drops[0].z < -4
    assert drops[0].median == pytest.approx(median, abs=0.1)
    assert drops[0].drop == drops[0].median - 1.0
    assert after.losses[0][-2:] == (4.0, 3.9)
    assert after.losses[1][-1] == 4.1


@given(st.floats(0.001, 0.999))
def test_below_the_ratio_and_only_there(share: float) -> None:
    state = history()
    median = robust.median(state.losses[0])
    assert median is not None
    _, drops = feed(state, 0, share * median)
    assert bool(drops) == (share * median < 0.5 * median)


def test_drops_leave_the_history_alone_however_many() -> None:
    state = before = history()
    for _ in range(2 * LENGTH):
        state, drops = feed(state, 0, 0.1)
        assert len(drops) == 1
    assert state.losses == before.losses


def test_nothing_is_a_drop_before_there_is_a_history() -> None:
    state = cliff.init(1)
    for count in range(ENOUGH):
        state, drops = feed(state, 0, 0.1 if count % 2 else 8.0)
        assert not drops


def test_one_source_does_not_judge_another() -> None:
    state = history()
    for _ in range(LENGTH):
        state = cliff.accept(state, Drop(0, 1, 1.0, 4.0, -7.5))
    assert not feed(state, 1, 1.0)[1]
    assert feed(state, 0, 1.0)[1]


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_neither_a_drop_nor_remembered(loss: float) -> None:
    state = history()
    after, drops, z = cliff.observe(state, [0, 1], [loss, loss], loss, 0.5)
    assert (after, drops, z) == (state, [], None)


def test_a_level_that_really_falls_is_taken_over() -> None:
    """The probe shares it, so that every value joins the history and soon nothing is a drop."""
    state, looked_at = history(), 0
    for _ in range(LENGTH):
        state, drops = feed(state, 0, 1.5)
        for drop in drops:
            looked_at += 1
            assert not cliff.confirmed(drop, PLANTED, lambda: 1.6)
            state = cliff.accept(state, drop)
    assert 0 < looked_at <= LENGTH // 2 + 1
    assert robust.median(state.losses[0]) == 1.5


def test_what_makes_a_cliff() -> None:
    drop = Drop(0, 0, nats=1.0, median=4.0, z=-7.5)
    assert cliff.confirmed(drop, PLANTED, lambda: 4.1)
    assert cliff.confirmed(drop, PLANTED, lambda: 2.5)
    assert cliff.confirmed(drop, PLANTED, lambda: None)
    assert not cliff.confirmed(drop, PLANTED, lambda: 2.4)
    assert not cliff.confirmed(drop, TABLE, lambda: 4.1)


@pytest.mark.parametrize("copies", range(2 * cliff.COPIES))
def test_a_text_must_recur(copies: int) -> None:
    found = Repeats(documents=100, start=0, length=32, quarter=copies)
    assert cliff.confirmed(Drop(0, 0, 1.0, 4.0, -7.5), found, lambda: 4.1) == (copies >= 8)


def test_the_probe_is_only_read_where_the_text_recurs() -> None:
    def read() -> float:
        raise AssertionError

    assert not cliff.confirmed(Drop(0, 0, 1.0, 4.0, -7.5), TABLE, read)


def test_a_spike_of_the_gradient_does_not_hide_the_next_but_a_level_is_learnt() -> None:
    state = history()
    for spike in range(cliff.PATIENCE - 1):
        after, _, z = cliff.observe(state, [0], [4.0], 30.0, 0.5)
        assert z is not None
        assert z > 100
        assert after.norms == state.norms
        assert after.refused == spike + 1
        state = after
    calm, _, z = cliff.observe(state, [0], [4.0], 1.0, 0.5)
    assert calm.refused == 0
    assert z == pytest.approx(0, abs=2)
    for _ in range(1 + ENOUGH):
        state, _, z = cliff.observe(state, [0], [4.0], 30.0, 0.5)
    assert z == 0


def test_the_smoothed_loss_is_a_mean_that_then_forgets() -> None:
    state = cliff.init(1)
    losses = np.random.default_rng(4).normal(4, 0.5, 4 * cliff.SMOOTHING)
    for loss in losses[:50].tolist():
        state, _ = feed(state, 0, loss)
    assert state.smoothed[0] == pytest.approx(losses[:50].mean())
    for _ in range(10 * cliff.SMOOTHING):
        state, _ = feed(state, 0, 3.0)
    assert state.smoothed[0] == pytest.approx(3.0, abs=1e-3)


def readings(gaps: list[float]) -> list[int]:
    """At which readings of source 1 an alarm stood."""
    state, alarms = history(), []
    trained = state.smoothed[1]
    assert trained is not None
    for count, gap in enumerate(gaps):
        state, grown = cliff.observe_probe(state, [math.nan, trained + gap])
        assert grown in ([], [1])
        alarms += [count] * len(grown)
        assert state.gaps[0] == PageHinkley()
    return alarms


def test_a_gap_that_grows_is_told_and_told_again_when_it_grows_on() -> None:
    growing = [0.1 * count for count in range(40)]
    alarms = readings(growing)
    assert len(alarms) >= 2
    assert 0.5 < growing[alarms[0]] < 1.5


@pytest.mark.parametrize("level", [-0.6, 0.0, 0.6])
def test_a_gap_that_only_wavers_or_shrinks_is_not(level: float) -> None:
    noise = np.random.default_rng(5).normal(0, 0.1, 100)
    assert not readings((level + noise).tolist())
    assert not readings((level + noise - 0.05 * np.arange(100)).tolist())


def test_a_source_without_a_history_has_no_gap() -> None:
    state, _, _ = cliff.observe(cliff.init(2), [0], [4.0], 1.0, 0.5)
    after, grown = cliff.observe_probe(state, [9.0, 9.0])
    assert (after, grown) == (state, [])


@given(st.integers(0, 5), st.integers(0, 60))
def test_json_is_exact(seed: int, steps: int) -> None:
    state = history(seed, steps=steps)
    state, _ = cliff.observe_probe(state, np.random.default_rng(seed).normal(4, 1, 2))
    assert stored(state) == state
