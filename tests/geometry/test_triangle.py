from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andrea.common.errors import UserError
from andrea.geometry.walk.measure.polygon import convex_hull
from andrea.geometry.walk.measure.triangle import CORNERS, reach, to_plane, triangle
from andrea.mixture.simplex import Region, draw, face
from tests.geometry.walks import golden_region, make_walk, regions
from tests.mixture.exact import share_of_simplex, vertices

quick = settings(derandomize=True, max_examples=25, deadline=None, database=None)
GOLDEN = json.loads((Path(__file__).parents[1] / "golden.json").read_text(encoding="utf-8"))[
    "region_three_sources"
]


def test_the_golden_region() -> None:
    found = reach(Region(np.array(GOLDEN["lower"]), np.array(GOLDEN["upper"])), [0, 1, 2])
    assert sorted(found.proportions.tolist()) == sorted(GOLDEN["vertices"])
    assert found.area_share == GOLDEN["share_of_the_full_simplex"]
    assert found.plane == pytest.approx(to_plane(found.proportions))


def test_the_corners_of_the_picture() -> None:
    assert to_plane(np.eye(3)) == pytest.approx(CORNERS)
    sides = np.linalg.norm(CORNERS - np.roll(CORNERS, 1, axis=0), axis=1)
    assert sides == pytest.approx(1)
    middle = to_plane(np.full((1, 3), 1 / 3))
    assert np.linalg.norm(CORNERS - middle, axis=1) == pytest.approx(1 / math.sqrt(3))


@quick
@given(regions(fewest=3, most=3))
def test_of_three_sources_the_reach_is_the_region(region: Region) -> None:
    found = reach(region, [0, 1, 2])
    expected = convex_hull(to_plane(vertices(region)))
    assert found.plane == pytest.approx(expected, abs=1e-9)
    if face(region).free.size == 3:
        assert found.area_share == pytest.approx(share_of_simplex(region), abs=1e-9)


@quick
@given(regions(fewest=3), st.integers(0, 1000))
def test_the_reach_holds_what_the_region_holds_and_no_more(region: Region, seed: int) -> None:
    rng = np.random.default_rng(seed)
    three = rng.permutation(region.lower.size)[:3].tolist()
    found = reach(region, three)
    corners = vertices(region)[:, three]
    shown = corners[corners.sum(axis=1) > 1e-6]
    inside = np.array([draw(region, rng) for _ in range(4)])[:, three]
    inside = inside[inside.sum(axis=1) > 1e-6]
    for points in (shown, inside):
        flat = to_plane(points / points.sum(axis=1, keepdims=True))
        for direction in rng.normal(size=(8, 2)):
            if len(flat):
                assert (flat @ direction).max() <= (found.plane @ direction).max() + 1e-6
    if len(shown) == len(corners):
        hull = to_plane(shown / shown.sum(axis=1, keepdims=True))
        for direction in rng.normal(size=(8, 2)):
            reached = (found.plane @ direction).max()
            assert reached == pytest.approx((hull @ direction).max(), abs=1e-6)


def test_floors_elsewhere_shrink_the_reach_and_none_leave_the_whole_triangle() -> None:
    assert reach(Region(np.zeros(5), np.ones(5)), [0, 2, 4]).area_share == 1
    lower = np.array([0.5, 0.2, 0, 0])
    found = reach(Region(lower, np.array([1, 1, 0.1, 1])), [0, 2, 3])
    assert found.proportions[:, 0].min() == pytest.approx(0.5 / 0.8)
    steepest = found.proportions[:, 1] / found.proportions[:, 0]
    assert steepest.max() == pytest.approx(0.1 / 0.5)


def test_excluded_sources_leave_a_side_a_corner_or_nothing() -> None:
    two = Region(np.zeros(4), np.array([1.0, 1.0, 0.0, 1.0]))
    assert reach(two, [0, 1, 2]).plane == pytest.approx(CORNERS[:2])
    one = Region(np.zeros(4), np.array([1.0, 0.0, 0.0, 1.0]))
    assert reach(one, [0, 1, 2]).plane == pytest.approx(CORNERS[:1])
    none = reach(Region(np.zeros(4), np.array([0.0, 0.0, 0.0, 1.0])), [0, 1, 2])
    assert none.proportions.shape == (0, 3)
    assert none.area_share == 0


def test_the_path_lies_in_its_reach_and_carries_its_mass() -> None:
    everything = Region(np.zeros(5), np.ones(5))
    polish = Region(np.array([0.4, 0.1, 0, 0, 0]), np.array([1, 1, 0.2, 0, 1]))
    walk = make_walk({"firehose": everything, "polish": polish}, 0)
    walk.phases.weights[1] = [0, 0.5, 0, 0.5, 0]
    found = triangle(walk, ["source-2", "source-0", "source-4"])
    assert found.sources == ("source-2", "source-0", "source-4")
    assert np.isnan(found.plane[1]).all()
    assert found.mass[1] == 0
    seen = np.delete(np.arange(18), 1)
    assert found.proportions[seen].sum(axis=1) == pytest.approx(1)
    shown = found.proportions * found.mass[:, None]
    assert shown[seen] == pytest.approx(walk.phases.weights[seen][:, [2, 0, 4]])
    for index, reached in enumerate(found.reaches):
        own = [n for n in seen if walk.regime[n] == index]
        grown = convex_hull(np.vstack([reached.plane, found.plane[own]]))
        assert grown == pytest.approx(reached.plane, abs=1e-9)


@pytest.mark.parametrize("names", [["a"], ["source-0"] * 3, ["source-0", "source-1", "x"]])
def test_other_than_three_known_sources_are_refused(names: list[str]) -> None:
    walk = make_walk({"polish": golden_region()}, 0)
    with pytest.raises(UserError, match="must be three different sources of source-0, source-1"):
        triangle(walk, names)
