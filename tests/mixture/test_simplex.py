from __future__ import annotations

import math
import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import kstest

from andrea.mixture.simplex import (
    Region,
    Vector,
    best_vertex,
    draw,
    entropy,
    face,
    project,
)
from andrea.mixture.volume import centre
from tests.mixture.exact import marginal_cdf, vertices

quick = settings(derandomize=True, max_examples=60, deadline=None, database=None)


@st.composite
def regions(draw_: st.DrawFn) -> Region:
    """Non-empty regions: a point of the simplex, and bounds around it that may touch it."""
    k = draw_(st.integers(1, 9))
    share = st.floats(0, 1)
    inside = np.array(draw_(st.lists(share, min_size=k, max_size=k))) + 1e-3
    inside /= inside.sum()
    down = np.array(draw_(st.lists(st.sampled_from([0, 0.3, 1]) | share, min_size=k, max_size=k)))
    up = np.array(draw_(st.lists(st.sampled_from([0, 0.3, 1]) | share, min_size=k, max_size=k)))
    return Region(inside * (1 - down), np.minimum(1, inside + (1 - inside) * up))


def assert_inside(weights: Vector, region: Region) -> None:
    assert weights.dtype == np.float64
    assert (weights >= region.lower).all()
    assert (weights <= region.upper).all()
    assert abs(math.fsum(weights) - 1) <= 1e-12


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([0.6, 0, 0.5], [1, 1, 1], "floors sum to 1.1 > 1 at sources [0, 2]"),
        ([0, 0, 0], [0.5, 0.3, 0.1], "caps sum to 0.9 < 1 at sources [0, 1, 2]"),
        ([0, 0.3, 0], [1, 0.2, 1], "floors above caps at sources [1]"),
        ([0, -0.1, 0], [1, 1, 1], "bounds outside 0..1 at sources [1]"),
        ([0, 0, 0], [1, 1, math.nan], "bounds outside 0..1 at sources [2]"),
        ([0, 0], [1, 1, 1], "floors of shape (2,) and caps of shape (3,)"),
    ],
)
def test_an_empty_region_names_what_binds(
    lower: list[float], upper: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Region(np.array(lower), np.array(upper))


def test_a_region_keeps_its_own_bounds() -> None:
    caps = np.ones(3)
    region = Region(np.zeros(3), caps)
    caps[:] = 0
    assert region.active.all()
    with pytest.raises(ValueError, match="read-only"):
        region.upper[0] = 0.5


@quick
@given(regions(), st.lists(st.floats(-1e3, 1e3), min_size=9, max_size=9))
def test_projection_satisfies_the_variational_inequality(
    region: Region, numbers: list[float]
) -> None:
    point = np.array(numbers[: region.lower.size])
    weights = project(point, region)
    assert_inside(weights, region)
    farthest = best_vertex(point - weights, region)
    assert (point - weights) @ (farthest - weights) <= 1e-12 * max(1, abs(point).max())


@quick
@given(regions())
def test_projection_leaves_the_region_alone(region: Region) -> None:
    weights = draw(region, np.random.default_rng(0))
    assert project(weights, region) == pytest.approx(weights, abs=1e-14)


@quick
@given(regions(), st.lists(st.integers(-3, 3), min_size=9, max_size=9))
def test_best_vertex_equals_the_linear_programme(region: Region, numbers: list[int]) -> None:
    score = np.array(numbers[: region.lower.size], dtype=np.float64)
    weights = best_vertex(score, region)
    assert_inside(weights, region)
    bounds = list(zip(region.lower, region.upper, strict=True))
    solved = linprog(-score, A_eq=np.ones((1, score.size)), b_eq=[1], bounds=bounds)
    assert score @ weights == pytest.approx(-solved.fun, abs=1e-9)
    on_bound = (weights == region.lower) | (weights == region.upper)
    close = np.isclose(weights, region.lower, atol=1e-12) | np.isclose(
        weights, region.upper, atol=1e-12
    )
    assert np.count_nonzero(~on_bound & ~close) <= 1


def test_best_vertex_breaks_ties_by_index_and_takes_infinite_scores(golden: Region) -> None:
    assert best_vertex(np.zeros(3), golden).tolist() == [1, 0, 0]
    assert best_vertex([0, math.inf, math.inf], golden).tolist() == [0.5, 0.5, 0]
    assert best_vertex([-math.inf, 0, math.inf], golden).tolist() == [0.5, 0.25, 0.25]
    with pytest.raises(ValueError, match=re.escape("NaN at sources [1]")):
        best_vertex([0, math.nan, 1], golden)


def test_golden_vertices(golden: Region) -> None:
    expected = [[0.5, 0.25, 0.25], [0.5, 0.5, 0], [0.75, 0, 0.25], [1, 0, 0]]
    assert vertices(golden) == pytest.approx(np.array(expected), abs=1e-15)


@quick
@given(regions(), st.integers(0, 1000))
def test_the_best_vertex_is_the_best_of_the_vertices(region: Region, seed: int) -> None:
    score = np.random.default_rng(seed).normal(size=region.lower.size)
    corners = vertices(region)
    assert (corners @ score).max() == pytest.approx(score @ best_vertex(score, region), abs=1e-9)


def _region(name: str, regimes: dict[str, Region], golden: Region, hard: Region) -> Region:
    return {
        **regimes,
        "golden": golden,
        "hard": hard,
        "two": Region(np.zeros(2), np.array([0.8, 0.7])),
        "nearly full": Region(np.zeros(5), np.array([0.3, 0.25, 0.2, 0.15, 0.12])),
        "floors and caps": Region(np.array([0.1, 0.2, 0, 0.05]), np.array([0.3, 1, 0.2, 0.5])),
        "thirty caps": Region(np.zeros(30), np.repeat([0.03, 0.05], 15)),
    }[name]


@pytest.mark.parametrize(
    "name",
    [
        "warmup",
        "firehose",
        "polish",
        "golden",
        "hard",
        "two",
        "nearly full",
        "floors and caps",
        "thirty caps",
    ],
)
def test_draws_have_the_exact_marginals_and_mean(
    name: str, regimes: dict[str, Region], golden: Region, hard: Region
) -> None:
    region = _region(name, regimes, golden, hard)
    drawn = np.array([draw(region, np.random.default_rng([7, n])) for n in range(600)])
    for weights in drawn[:50]:
        assert_inside(weights, region)
    free = face(region).free
    for source in {int(free[0]), int(free[free.size // 2]), int(free[-1])}:
        test = kstest(drawn[:, source], lambda x, s=source: marginal_cdf(region, s, x))
        assert test.pvalue > 0.01, (source, test)
    deviation = np.maximum(drawn.std(axis=0), 1e-12) / math.sqrt(len(drawn))
    assert (np.abs(drawn.mean(axis=0) - centre(region)) < 4 * deviation).all()


def test_draws_are_uniform_in_the_plane_and_not_only_along_the_axes(golden: Region) -> None:
    """Area of the golden trapezium below gutenberg <= dictionary, in units of the whole."""
    drawn = np.array([draw(golden, np.random.default_rng([8, n])) for n in range(2000)])
    share = np.mean(drawn[:, 1] <= drawn[:, 2])
    assert share == pytest.approx(0.0625 / 0.09375 / 2, abs=4 * math.sqrt(0.25 / 2000))


@quick
@given(regions(), st.integers(0, 100))
def test_draws_stay_inside_and_repeat(region: Region, seed: int) -> None:
    weights = draw(region, np.random.default_rng(seed))
    assert_inside(weights, region)
    assert (weights == draw(region, np.random.default_rng(seed))).all()


@pytest.mark.parametrize("upper", [[0.2, 0.3, 0.5], [1.0, 1.0, 1.0]])
def test_a_region_of_one_point(upper: list[float]) -> None:
    region = Region(np.array([0.2, 0.3, 0.5]), np.array(upper))
    point = pytest.approx(np.array([0.2, 0.3, 0.5]), abs=1e-15)
    assert draw(region, np.random.default_rng(0)) == point
    assert project(np.array([9.0, -3, 0]), region) == point
    assert best_vertex(np.arange(3), region) == point
    assert vertices(region)[0] == point


def test_a_draw_in_the_hard_region_is_fast(hard: Region) -> None:
    times = []
    for number in range(20):
        start = time.perf_counter()
        draw(hard, np.random.default_rng(number))
        times.append(time.perf_counter() - start)
    assert np.median(times) < 0.2


def test_entropy() -> None:
    assert entropy([1, 0, 0]) == 0
    assert entropy(np.full(16, 1 / 16)) == pytest.approx(math.log(16), abs=1e-15)
