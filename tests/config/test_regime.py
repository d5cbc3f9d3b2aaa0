"""Borders and regions of the three regimes as they ship."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.config import tree
from andrea.config.training import REGIMES, Regime, last_step
from andrea.mixture.simplex import Region
from andrea.mixture.volume import centre

SHIPPED = tree.load(Path(__file__).parents[2] / "params.yaml")


def test_borders_of_the_original_run() -> None:
    """20,000, 112,619 and 200,000 of 200,000 steps."""
    borders = [last_step(regime, 200_000) for regime in SHIPPED.regimes.values()]
    assert borders == [20_000, 112_619, 200_000]


@pytest.mark.parametrize(("end", "steps", "border"), [(0.5, 1, 1), (0.5, 3, 2), (0.1, 4, 0)])
def test_borders_are_rounded_half_up(end: float, steps: int, border: int) -> None:
    """Never to the even number."""
    assert last_step(Regime(end, "all", {}, {}), steps) == border


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 10**6))
def test_borders_keep_the_order_of_the_shares(low: float, high: float, steps: int) -> None:
    """And the last regime ends with the run."""
    low, high = sorted((low, high))
    first, second, last = (last_step(Regime(end, "all", {}, {}), steps) for end in (low, high, 1.0))
    assert 0 <= first <= second <= last == steps


def test_regions_as_given() -> None:
    """Seven sources, sixteen, and fourteen with the priority's floor."""
    bounds = {name: SHIPPED.bounds(name) for name in REGIMES}
    dimensions = {name: sum(cap > 0 for cap in b.upper) - 1 for name, b in bounds.items()}
    assert dimensions == {"warmup": 6, "firehose": 15, "polish": 13}
    assert sum(bounds["warmup"].lower) == sum(bounds["firehose"].lower) == 0
    bounds_of = zip(bounds["polish"].lower, bounds["polish"].upper, strict=True)
    polish = dict(zip(SHIPPED.sources, bounds_of, strict=True))
    assert polish["hermes3-general"] == (0.7, 1.0)
    assert polish["dictionary"] == (0.0, 0.25)
    assert polish["repo-docs"] == polish["repo-docstrings"] == (0.0, 0.0)


def test_no_floor_is_no_bound() -> None:
    """`polish.floor=0` leaves the priority as free as any source."""
    free = replace(SHIPPED, polish=replace(SHIPPED.polish, floor=0.0))
    assert free.bounds("polish").lower[list(free.sources).index("hermes3-general")] == 0


def test_the_tokenizer_is_weighted_by_the_default_curriculum() -> None:
    """`tokenizer.weights` is the centre of the regions, averaged over the steps of the run."""
    expected, start = np.zeros(len(SHIPPED.sources)), 0.0
    for name, regime in SHIPPED.regimes.items():
        bounds = SHIPPED.bounds(name)
        region = Region(np.array(bounds.lower), np.array(bounds.upper))
        expected += (regime.end - start) * centre(region)
        start = regime.end
    weights = SHIPPED.tokenizer.weights
    assert list(weights) == list(SHIPPED.sources)
    assert np.abs(np.array(list(weights.values())) - expected).max() < 1e-4
