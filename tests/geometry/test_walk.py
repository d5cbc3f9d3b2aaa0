from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andrea.geometry.walk.measure.places import (
    draw_points,
    faces,
    path_places,
    places,
    shares,
)
from andrea.geometry.walk.measure.timeline import payoffs
from andrea.mixture.simplex import Region, Vector, draw
from tests.geometry.walks import golden_region, make_walk, regions
from tests.mixture.exact import vertices

quick = settings(derandomize=True, max_examples=15, deadline=None, database=None)
WARMUP = Region(np.zeros(4), np.array([1.0, 1.0, 0.0, 0.0]))
EVERYTHING = Region(np.zeros(4), np.ones(4))
POLISH = Region(np.array([0.5, 0.1, 0, 0]), np.array([1, 1, 0.2, 0]))
BY_REGIME = {"warmup": WARMUP, "firehose": EVERYTHING, "polish": POLISH}


@quick
@given(regions(), st.integers(0, 1000))
def test_distances_are_those_to_the_nearest_corner_and_vertex(region: Region, seed: int) -> None:
    k = region.lower.size
    points = np.array([draw(region, np.random.default_rng([seed, n])) for n in range(4)])
    found = places(points, region, 10**4)

    def nearest(corners: Vector) -> Vector:
        return np.linalg.norm(points[:, None] - corners[None], axis=2).min(axis=1)

    assert found.corner_distance == pytest.approx(nearest(np.eye(k)), abs=1e-12)
    assert found.vertex_distance == pytest.approx(nearest(vertices(region)), abs=1e-9)


@quick
@given(regions())
def test_at_a_vertex_the_distance_is_zero_and_all_but_one_source_are_on_a_bound(
    region: Region,
) -> None:
    corners = vertices(region)
    found = places(corners, region, 10**4)
    assert found.vertex_distance == pytest.approx(0, abs=1e-9)
    free = np.count_nonzero((region.upper - region.lower > 1e-6) & (np.ptp(corners, axis=0) > 1e-6))
    assert (found.on_bound >= free - 1).all()


def test_corners_of_the_simplex() -> None:
    found = places(np.vstack([np.eye(16), np.full((1, 16), 1 / 16)]), _full(16), 20)
    assert found.corner_distance[:16].tolist() == [0] * 16
    assert found.vertex_distance[:16].tolist() == [0] * 16
    assert found.corner[:16].tolist() == list(range(16))
    assert found.entropy[:16].tolist() == [0] * 16
    assert found.on_bound.tolist() == [16] * 16 + [0]
    assert found.corner_distance[16] == pytest.approx(math.sqrt(15 / 16))
    assert found.entropy[16] == pytest.approx(math.log(16))


def test_too_many_vertices_leave_the_distance_open() -> None:
    found = places(np.full((2, 16), 1 / 16), Region(np.zeros(16), np.full(16, 0.25)), 100)
    assert np.isnan(found.vertex_distance).all()


def test_bounds_of_pinned_sources_do_not_count() -> None:
    points = np.array([[0.5, 0.3, 0.2, 0], [0.7, 0.1, 0.2, 0], [0.9, 0.1, 0, 0]])
    found = places(points, POLISH, 100)
    assert found.on_floor.astype(int).tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0]]
    assert found.on_bound.tolist() == [2, 2, 3]
    # The floor of the second source leaves the first no more than 0.9, whatever its cap says.
    assert found.on_cap.astype(int).tolist() == [[0, 0, 1, 0], [0, 0, 1, 0], [1, 0, 0, 0]]


def test_payoffs_are_silent_where_nothing_was_known_or_paid() -> None:
    walk = make_walk(BY_REGIME, 1)
    walk.phases.scores[0, :] = np.nan
    found = payoffs(walk)
    excluded = np.array([region.upper == 0 for region in walk.regions])[walk.regime]
    owed = np.zeros_like(excluded)
    owed[0] = True
    assert np.array_equal(np.isnan(found.scores), excluded | owed)
    assert np.array_equal(np.isnan(found.rewards), walk.phases.sequences == 0)


def test_shares_agree_with_sums_by_hand() -> None:
    walk = make_walk(BY_REGIME, 2)
    found = shares(walk)
    steps, weights, sequences = walk.phases.steps, walk.phases.weights, walk.phases.sequences
    assert found.planned[3] == pytest.approx(steps @ weights / steps.sum())
    assert found.realised[1] == pytest.approx(sequences[9:18].sum(0) / sequences[9:18].sum())
    for table in (found.planned, found.realised, found.centre, found.bandit, found.random):
        assert table.sum(axis=1) == pytest.approx(1)
    worst = found.deviation_source[2]
    assert found.deviation[2] == abs(found.planned[2, worst] - found.realised[2, worst])
    assert (found.deviation >= abs(found.planned - found.realised).T).all()
    assert found.lag_sequences[-1] == pytest.approx(4 * steps @ weights - sequences.sum(0))
    assert found.lag_sequences.sum(axis=1) == pytest.approx(0, abs=1e-9)
    assert found.centre[0].tolist() == [0.5, 0.5, 0, 0]


def test_a_walk_without_bandit_phases_has_no_bandit_shares() -> None:
    walk = make_walk({"firehose": EVERYTHING}, 0, count=1)
    assert np.isnan(shares(walk).bandit).all()


def test_time_on_faces_counts_steps() -> None:
    walk = make_walk({"polish": POLISH}, 4, count=4)
    walk.phases.weights[:] = [0.6, 0.25, 0.15, 0]
    walk.phases.weights[1] = [0.5, 0.4, 0.1, 0]
    walk.phases.weights[2] = [0.7, 0.1, 0.2, 0]
    found = faces(walk, path_places(walk, 100))
    share = walk.phases.steps / walk.phases.steps.sum()
    assert found.on_a_face == pytest.approx([share[1] + share[2]])
    assert found.at_a_vertex == pytest.approx([share[2]])
    assert found.on_floor[0] == pytest.approx([share[1], share[2], 0, 0])
    assert found.on_cap[0] == pytest.approx([0, 0, share[2], 0])


def test_draws_are_keyed_and_inside() -> None:
    walk = make_walk({"polish": golden_region(), "again": golden_region()}, 0)
    few, many = draw_points(walk, 3, 7), draw_points(walk, 5, 7)
    assert np.array_equal(few[0], many[0][:3])
    assert not np.array_equal(many[0], many[1])
    assert not np.array_equal(many[0], draw_points(walk, 5, 8)[0])
    assert many[0].sum(axis=1) == pytest.approx(1)
    assert (many[0] >= golden_region().lower).all()
    assert (many[0] <= golden_region().upper).all()


def _full(k: int) -> Region:
    return Region(np.zeros(k), np.ones(k))
