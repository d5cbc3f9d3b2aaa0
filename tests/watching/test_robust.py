from __future__ import annotations

import json
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.watching.robust import ENOUGH, GAUSSIAN, LEAST_SPREAD, LENGTH, Window

VALUES = st.lists(st.floats(-1e6, 1e6), max_size=2 * LENGTH)


def filled(values: list[float]) -> Window:
    window = Window()
    for value in values:
        window = window.accept(value)
    return window


@given(VALUES)
def test_it_keeps_the_last_values_in_order(values: list[float]) -> None:
    assert filled(values).values == tuple(values[-LENGTH:])


@given(VALUES, st.floats(-1e6, 1e6))
def test_z_is_what_its_definition_says(values: list[float], value: float) -> None:
    window, kept = filled(values), values[-LENGTH:]
    if len(kept) < ENOUGH:
        assert window.median() is None
        assert window.z(value) is None
        return
    median = statistics.median(kept)
    mad = statistics.median([abs(each - median) for each in kept])
    deviation = max(1.4826 * mad, LEAST_SPREAD * abs(median))
    assert window.median() == pytest.approx(median)
    assert window.z(value) == pytest.approx((value - median) / deviation if deviation else 0)


def test_a_normal_history_gives_normal_scores() -> None:
    rng = np.random.default_rng(1)
    spreads = [
        np.std([filled(rng.normal(4, 0.5, LENGTH).tolist()).z(x) for x in rng.normal(4, 0.5, 20)])
        for _ in range(50)
    ]
    assert np.mean(spreads) == pytest.approx(1, abs=0.1)


def test_a_spike_in_the_history_does_not_hide_the_next() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(4, 0.5, LENGTH).tolist()
    before, after = filled(values).z(0.1), filled([*values, 0.1, 0.1, 0.1]).z(0.1)
    assert before is not None
    assert after is not None
    assert after == pytest.approx(before, rel=0.1)
    assert before < -6


def test_a_constant_history_makes_no_last_digit_an_outlier() -> None:
    window = filled([4.0] * LENGTH)
    assert window.z(4.0) == 0
    assert window.z(3.999) == pytest.approx(-0.025)
    assert filled([0.0] * LENGTH).z(1.0) == 0


def test_the_constant_is_that_of_the_normal_law() -> None:
    assert pytest.approx(1 / statistics.NormalDist().inv_cdf(0.75), abs=1e-4) == GAUSSIAN


@given(VALUES)
def test_json_is_exact(values: list[float]) -> None:
    window = filled(values)
    assert Window.from_json(json.loads(json.dumps(window.to_json()))) == window
