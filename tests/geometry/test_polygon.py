from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import ConvexHull

from andrea.geometry.walk.measure.polygon import area, convex_hull, list_vertices, shadow
from andrea.mixture.simplex import Region, Vector, draw
from tests.geometry.walks import regions
from tests.mixture.exact import vertices

quick = settings(derandomize=True, max_examples=20, deadline=None, database=None)
CUBE = Region(np.zeros(4), np.full(4, 0.5))  # an octahedron: six vertices


def outside(polygon: Vector, points: Vector) -> float:
    """How far the farthest of the points lies outside a convex polygon."""
    edges = np.roll(polygon, -1, axis=0) - polygon
    normals = np.stack([edges[:, 1], -edges[:, 0]], axis=1)
    length = np.maximum(np.linalg.norm(normals, axis=1), 1e-300)
    away = np.einsum("pej,ej->pe", points[:, None] - polygon[None], normals / length[:, None])
    return float(away.max())


def plane(seed: int, k: int) -> Vector:
    """Two orthonormal directions of a space of k dimensions."""
    rng = np.random.default_rng(seed)
    return np.linalg.qr(rng.normal(size=(max(k, 2), 2)))[0].T[:, :k]


@quick
@given(arrays(np.float64, (12, 2), elements=st.integers(-4, 4).map(float)))
def test_the_hull_holds_every_point_and_turns_left_at_every_corner(points: Vector) -> None:
    hull = convex_hull(points)
    assert {tuple(corner) for corner in hull} <= {tuple(point + 0.0) for point in points}
    assert hull.tolist()[0] == min(hull.tolist())
    if len(hull) > 2:
        sides = np.roll(hull, -1, axis=0) - hull
        following = np.roll(sides, -1, axis=0)
        assert (sides[:, 0] * following[:, 1] - sides[:, 1] * following[:, 0] > 0).all()
        assert outside(hull, points) <= 1e-12
    else:
        assert np.linalg.matrix_rank(points - points[0]) < 2
        assert len(hull) == (1 if (points == points[0]).all() else 2)


def test_the_hull_is_qhulls() -> None:
    points = np.random.default_rng(0).normal(size=(400, 2))
    expected = points[ConvexHull(points).vertices]
    hull = convex_hull(points)
    assert sorted(hull.tolist()) == pytest.approx(np.array(sorted(expected.tolist())))
    assert area(hull) == pytest.approx(ConvexHull(points).volume)


@quick
@given(regions(), st.integers(0, 1000))
def test_the_shadow_is_the_hull_of_the_projected_vertices(region: Region, seed: int) -> None:
    k = region.lower.size
    axes, origin = plane(seed, k), np.full(k, 1 / k)
    outline = shadow(region, axes, origin)
    expected = convex_hull((vertices(region) - origin) @ axes.T)
    assert area(outline) == pytest.approx(area(expected), abs=1e-10)
    if len(outline) > 2:
        assert outside(outline, expected) <= 1e-9
        inside = np.array([draw(region, np.random.default_rng([seed, n])) for n in range(5)])
        assert outside(outline, (inside - origin) @ axes.T) <= 1e-9
    else:
        assert outline == pytest.approx(expected[[0, -1][: len(outline)]], abs=1e-9)


def test_the_hull_of_draws_is_much_smaller_than_the_shadow() -> None:
    everything = Region(np.zeros(16), np.ones(16))
    axes, origin = plane(3, 16), np.full(16, 1 / 16)
    drawn = np.array([draw(everything, np.random.default_rng(n)) for n in range(60)])
    outline = shadow(everything, axes, origin)
    assert area(convex_hull((drawn - origin) @ axes.T)) < 0.3 * area(outline)


@quick
@given(regions())
def test_vertices_are_listed_as_the_mixture_lists_them(region: Region) -> None:
    listed = list_vertices(region, 10**5)
    assert listed is not None
    expected = vertices(region)
    assert listed.shape == expected.shape
    assert listed == pytest.approx(expected, abs=1e-11)


def test_a_limit_ends_the_list() -> None:
    assert list_vertices(CUBE, 5) is None
    listed = list_vertices(CUBE, 6)
    assert listed is not None
    assert listed.tolist() == sorted(listed.tolist())
    assert sorted(listed.sum(1)) == [1] * 6


def test_sixteen_capped_sources_have_many_vertices_and_are_listed() -> None:
    quarters = list_vertices(Region(np.zeros(16), np.full(16, 0.25)), 2000)
    assert quarters is not None
    assert len(quarters) == 1820  # four of sixteen
    assert list_vertices(Region(np.zeros(16), np.ones(16)), 16) == pytest.approx(np.eye(16)[::-1])
