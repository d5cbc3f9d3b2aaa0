from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andrea.geometry.walk.measure.places import draw_points
from andrea.geometry.walk.measure.polygon import convex_hull
from andrea.geometry.walk.measure.shadow import principal_axes, project, region_axes
from andrea.mixture.simplex import Region
from tests.geometry.walks import make_walk, regions
from tests.mixture.exact import vertices

quick = settings(derandomize=True, max_examples=12, deadline=None, database=None)


@quick
@given(st.integers(0, 1000), st.integers(2, 6))
def test_axes_are_the_largest_singular_directions(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    points, repeats = rng.normal(size=(20, k)), rng.integers(1, 5, 20)
    axes = principal_axes(points, repeats.astype(np.float64))
    repeated = np.repeat(points, repeats, axis=0)
    away = repeated - repeated.mean(axis=0)
    values, directions = np.linalg.svd(away)[1:]
    assert axes.origin == pytest.approx(repeated.mean(axis=0))
    assert abs(np.sum(axes.directions * directions[:2], axis=1)) == pytest.approx(1, abs=1e-6)
    assert axes.explained == pytest.approx(values[:2] ** 2 / (values**2).sum())
    assert (axes.directions.max(axis=1) >= -axes.directions.min(axis=1)).all()


@quick
@given(regions(), st.integers(0, 1000))
def test_path_draws_and_vertices_lie_in_the_outline(region: Region, seed: int) -> None:
    walk = make_walk({"polish": region}, seed, count=4)
    drawn = draw_points(walk, 4, seed)
    found = project(walk, region_axes(drawn), drawn, 10**4)
    outline, corners = found.outlines[0], found.vertices[0]
    assert corners is not None
    assert len(corners) == len(vertices(region))
    for inner in (found.path, found.points[0], corners):
        grown = convex_hull(np.vstack([outline, inner]))
        assert np.ptp(grown, axis=0) == pytest.approx(np.ptp(outline, axis=0), abs=1e-9)
        for direction in np.random.default_rng(seed).normal(size=(8, 2)):
            assert (inner @ direction).max() <= (outline @ direction).max() + 1e-9


def test_a_path_and_its_plane_fit_together() -> None:
    everything = Region(np.zeros(5), np.ones(5))
    walk = make_walk({"firehose": everything}, 0, count=30)
    drawn = draw_points(walk, 40, 0)
    own = principal_axes(walk.phases.weights, walk.phases.steps.astype(np.float64))
    found = project(walk, own, drawn, 4)
    assert found.vertices == (None,)
    assert found.explained == pytest.approx(own.explained)
    shifted = project(walk, replace(own, origin=np.eye(5)[0]), drawn, 4)
    assert shifted.explained == pytest.approx(own.explained)
    lifted = own.origin + found.path @ own.directions
    assert np.linalg.norm(walk.phases.weights - lifted, axis=1) == pytest.approx(found.off_plane)
    assert found.corners == pytest.approx((np.eye(5) - own.origin) @ own.directions.T)
    other = project(walk, region_axes(drawn), drawn, 5).explained
    assert other.sum() < found.explained.sum()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_walk_that_cannot_move_stands_at_the_origin(k: int) -> None:
    pinned = Region(np.full(k, 1 / k), np.full(k, 1 / k))
    walk = make_walk({"polish": pinned}, 0, count=2)
    drawn = draw_points(walk, 3, 0)
    found = project(walk, region_axes(drawn), drawn, 10)
    assert found.path == pytest.approx(np.zeros((2, 2)), abs=1e-12)
    assert found.outlines[0] == pytest.approx(np.zeros((1, 2)), abs=1e-12)
    assert found.explained.tolist() == [0, 0]
