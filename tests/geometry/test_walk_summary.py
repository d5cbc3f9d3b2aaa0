from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from andrea.geometry.walk.measure.measure import of_phases
from andrea.geometry.walk.measure.metrics import metrics
from andrea.geometry.walk.measure.places import draw_points, path_places, shares
from andrea.geometry.walk.measure.summary import sizes, where
from andrea.mixture.simplex import Region
from tests.geometry.geometries import example
from tests.geometry.walks import golden_region, make_walk

EVERYTHING = Region(np.zeros(3), np.ones(3))
BY_REGIME = {"firehose": EVERYTHING, "polish": golden_region()}


def test_sizes_are_those_of_the_regions() -> None:
    walk = make_walk(BY_REGIME, 0)
    firehose, polish = sizes(walk, 3)
    assert (firehose.name, firehose.start_step, firehose.phases) == ("firehose", 0, 9)
    assert (polish.start_step, polish.end_step) == (firehose.end_step, walk.end_step)
    assert (firehose.log10_share, firehose.dimension) == (0, 2)
    assert 10**polish.log10_share == pytest.approx(0.1875)
    assert (firehose.vertices, polish.vertices) == (3, None)
    steps = walk.phases.steps[9:]
    assert polish.random_share == pytest.approx(steps[::2].sum() / steps.sum())


def test_quantiles_run_over_steps_and_random_phases_look_like_chance() -> None:
    walk = make_walk(BY_REGIME, 0, count=100)
    path = path_places(walk, 3)
    rows = where(walk, path, draw_points(walk, 100, 1), 3)
    assert [(row.regime, row.kind) for row in rows] == [
        (name, kind) for name in BY_REGIME for kind in ("random", "bandit", "chance")
    ]
    random, bandit, chance = rows[:3]
    assert random.entropy == pytest.approx(chance.entropy, abs=0.2)
    assert bandit.steps == walk.phases.steps[1:100:2].sum()
    by_step = np.repeat(path.corner_distance[1:100:2], walk.phases.steps[1:100:2])
    assert bandit.corner_distance[1] == np.median(by_step)
    assert bandit.vertex_distance == bandit.corner_distance  # of the whole simplex
    assert rows[3].vertex_distance is None


def test_metrics_are_finite_and_left_out_where_unknown() -> None:
    walk = make_walk(BY_REGIME, 0)
    measured = of_phases(walk, seed=1, bins=5, chance_points=4, vertices=3)
    found = metrics(replace(example(), walk=measured))
    assert all(math.isfinite(value) for value in found.values())
    assert json.loads(json.dumps(found)) == found
    assert "firehose.bandit.vertex_distance" in found
    assert "polish.bandit.vertex_distance" not in found
    assert found["polish.largest_deviation"] == shares(walk).deviation[1]
