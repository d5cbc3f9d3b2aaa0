from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.watching import robust
from andrea.watching.robust import ENOUGH, GAUSSIAN, LEAST_SPREAD, LENGTH, History

VALUES = st.lists(st.floats(-1e6, 1e6), max_size=2 * LENGTH)


def filled(values: list[float]) -> History:
    history: History = ()
    for value in values:
        history = robust.accept(history, value)
    return history


@given(VALUES)
def test_it_keeps_the_last_values_in_order(values: list[float]) -> None:
    assert filled(values) == tuple(values[-LENGTH:])


@given(VALUES, st.floats(-1e6, 1e6))
def test_z_is_what_its_definition_says(values: list[float], value: float) -> None:
    history, kept = filled(values), values[-LENGTH:]
    if len(kept) < ENOUGH:
        assert robust.median(history) is None
        assert robust.z(history, value) is None
        return
    median = statistics.median(kept)
    mad = statistics.median([abs(each - median) for each in kept])
    deviation = max(1.4826 * mad, LEAST_SPREAD * abs(median))
    assert robust.median(history) == pytest.approx(median)
    assert robust.z(history, value) == pytest.approx(
        (value - median) / deviation if deviation else 0
    )


def test_a_normal_history_gives_normal_scores() -> None:
    rng = np.random.default_rng(1)
    spreads = [
        np.std(
            [
                robust.z(filled(rng.normal(4, 0.5, LENGTH).tolist()), x)
                for x in rng.normal(4, 0.5, 20)
            ]
        )
        for _ in range(50)
    ]
    assert np.mean(spreads) == pytest.approx(1, abs=0.1)


def test_a_spike_in_the_history_does_not_hide_the_next() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(4, 0.5, LENGTH).tolist()
    before = robust.z(filled(values), 0.1)
    after = robust.z(filled([*values, 0.1, 0.1, 0.1]), 0.1)
    assert before is not None
    assert after is not None
    assert after == pytest.approx(before, rel=0.1)
    assert before < -6


def test_a_constant_history_makes_no_last_digit_an_outlier() -> None:
    history = filled([4.0] * LENGTH)
    assert robust.z(history, 4.0) == 0
    assert robust.z(history, 3.999) == pytest.approx(-0.025)
    assert robust.z(filled([0.0] * LENGTH), 1.0) == 0


def test_the_constant_is_that_of_the_normal_law() -> None:
    assert pytest.approx(1 / statistics.NormalDist().inv_cdf(0.75), abs=1e-4) == GAUSSIAN
