"""The search for where a loss has risen by so much, on rises whose shape is known."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.geometry.terrain.measure.crossing import LARGEST_DISTANCE, PRECISION, crossing


@given(st.floats(0.5, 4), st.floats(-4, 4), st.floats(0.01, 2), st.floats(0.01, 4))
def test_a_power_is_crossed_where_algebra_says(
    power: float, log_scale: float, level: float, first: float
) -> None:
    scale = math.exp(log_scale)
    true = (level / scale) ** (1 / power)
    if not 1e-4 < true < LARGEST_DISTANCE / 2:
        return
    calls = 0

    def rise(distance: float) -> float:
        nonlocal calls
        calls += 1
        return scale * distance**power

    found = crossing(rise, level, first)
    assert abs(math.log(rise(found) / level)) <= PRECISION
    assert calls <= 6 + abs(math.log2(true / first))


@given(st.floats(0.01, 0.9), st.floats(0.02, 2))
def test_a_line_that_falls_first_and_saturates_is_crossed(level: float, first: float) -> None:
    def rise(distance: float) -> float:
        return math.tanh(distance**3) - 0.1 * distance * math.exp(-distance)

    found = crossing(rise, level, first)
    assert abs(math.log(rise(found) / level)) <= PRECISION


@pytest.mark.parametrize("high", [5.0, math.inf, math.nan])
def test_at_a_jump_the_end_below_it_is_taken(high: float) -> None:
    found = crossing(lambda distance: 0.01 if distance < 0.7 else high, 0.1, 0.125)
    assert 0.7 * (1 - 2e-3) < found < 0.7


def test_a_loss_that_never_rises_has_the_largest_radius() -> None:
    assert crossing(lambda distance: 0.0, 0.1, 0.125) == LARGEST_DISTANCE
    assert crossing(lambda distance: -distance, 0.1, 100.0) == LARGEST_DISTANCE


def test_a_loss_that_is_high_everywhere_else_has_none() -> None:
    assert crossing(lambda distance: 1.0, 0.1, 0.125) == 0
