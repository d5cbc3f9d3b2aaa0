"""Borders and regions of the three regimes as they ship."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.config import regime, sources
from andrea.mixture.simplex import Region
from andrea.mixture.volume import centre

Params = dict[str, Any]


def test_borders_of_the_original_run(shipped: Params) -> None:
    """20,000, 112,619 and 200,000 of 200,000 steps."""
    names = list(sources.read(shipped))
    read = [regime.read(shipped, name, names)[0] for name in regime.NAMES]
    assert [regime.last_step(cfg, 200_000) for cfg in read] == [20_000, 112_619, 200_000]


@pytest.mark.parametrize(("end", "steps", "border"), [(0.5, 1, 1), (0.5, 3, 2), (0.1, 4, 0)])
def test_borders_are_rounded_half_up(end: float, steps: int, border: int) -> None:
    """Never to the even number."""
    assert regime.last_step(regime.Regime(end, "all", {}, {}), steps) == border


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 10**6))
def test_borders_keep_the_order_of_the_shares(low: float, high: float, steps: int) -> None:
    """And the last regime ends with the run."""
    low, high = sorted((low, high))
    first, second, last = (
        regime.last_step(regime.Regime(end, "all", {}, {}), steps) for end in (low, high, 1.0)
    )
    assert 0 <= first <= second <= last == steps


def test_regions_as_given(shipped: Params) -> None:
    """Seven sources, sixteen, and fourteen with the priority's floor."""
    names = list(sources.read(shipped))
    bounds = {name: regime.read(shipped, name, names)[1] for name in regime.NAMES}
    dimensions = {name: sum(cap > 0 for cap in b.upper) - 1 for name, b in bounds.items()}
    assert dimensions == {"warmup": 6, "firehose": 15, "polish": 13}
    assert sum(bounds["warmup"].lower) == sum(bounds["firehose"].lower) == 0
    bounds_of = zip(bounds["polish"].lower, bounds["polish"].upper, strict=True)
    polish = dict(zip(names, bounds_of, strict=True))
    assert polish["hermes3-general"] == (0.7, 1.0)
    assert polish["dictionary"] == (0.0, 0.25)
    assert polish["repo-docs"] == polish["repo-docstrings"] == (0.0, 0.0)


def test_no_floor_is_no_bound(shipped: Params) -> None:
    """`polish.floor=0` leaves the priority as free as any source."""
    params = {**shipped, "polish": {**shipped["polish"], "floor": 0}}
    names = list(sources.read(params))
    bounds = regime.read(params, "polish", names)[1]
    assert bounds.lower[names.index("hermes3-general")] == 0


def test_the_tokenizer_is_weighted_by_the_default_curriculum(shipped: Params) -> None:
    """`tokenizer.weights` is the centre of the regions, averaged over the steps of the run."""
    names = list(sources.read(shipped))
    expected, start = np.zeros(len(names)), 0.0
    for name in regime.NAMES:
        cfg, bounds = regime.read(shipped, name, names)
        region = Region(np.array(bounds.lower), np.array(bounds.upper))
        expected += (cfg.end - start) * centre(region)
        start = cfg.end
    weights = shipped["tokenizer"]["weights"]
    assert list(weights) == names
    assert np.abs(np.array(list(weights.values())) - expected).max() < 1e-4
