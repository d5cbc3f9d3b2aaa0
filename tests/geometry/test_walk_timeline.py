from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andrea.geometry.walk.measure.timeline import KINDS, payoffs, timeline
from andrea.mixture.simplex import Region
from tests.geometry.walks import make_walk

quick = settings(derandomize=True, max_examples=15, deadline=None, database=None)
EVERYTHING = Region(np.zeros(4), np.ones(4))
BY_REGIME = {
    "warmup": Region(np.zeros(4), np.array([1.0, 1.0, 0.0, 0.0])),
    "firehose": EVERYTHING,
    "polish": Region(np.array([0.5, 0.1, 0, 0]), np.array([1, 1, 0.2, 0])),
}


@quick
@given(st.integers(0, 1000), st.integers(1, 60))
def test_shares_of_the_timeline_sum_to_one_and_keep_the_means(seed: int, bins: int) -> None:
    walk = make_walk(BY_REGIME, seed)
    found = timeline(walk, bins)
    assert set(found.borders) <= set(found.edges)
    assert len(found.edges) - 1 <= min(27, bins + 2)
    for table in (found.planned, found.realised, found.kinds):
        assert table.sum(axis=1) == pytest.approx(1)
    width = np.diff(found.edges)
    steps = walk.phases.steps
    assert width @ found.planned == pytest.approx(steps @ walk.phases.weights)
    random = steps[walk.phases.kinds == "random"].sum()
    assert width @ found.kinds[:, KINDS.index("random")] == pytest.approx(random)
    assert np.array_equal(np.isnan(found.rewards), found.realised == 0)


def test_a_timeline_with_room_shows_every_phase_as_it_was() -> None:
    walk = make_walk(BY_REGIME, 3)
    found = timeline(walk, 27)
    assert found.edges.tolist() == [*walk.phases.start_step, walk.end_step]
    assert found.planned == pytest.approx(walk.phases.weights)
    paid = payoffs(walk)
    sequences = walk.phases.sequences
    assert found.realised == pytest.approx(sequences / sequences.sum(axis=1, keepdims=True))
    assert found.scores == pytest.approx(paid.scores, nan_ok=True)
    assert found.rewards == pytest.approx(paid.rewards, nan_ok=True)


def test_bins_follow_the_steps_and_weigh_rewards_by_sequences() -> None:
    walk = make_walk({"firehose": EVERYTHING}, 5, count=6)
    found = timeline(walk, 2)
    by_step = np.repeat(walk.phases.weights, walk.phases.steps, axis=0)
    for n, (start, end) in enumerate(zip(found.edges[:-1], found.edges[1:], strict=True)):
        assert found.planned[n] == pytest.approx(by_step[start:end].mean(axis=0))
    sequences, rewards = walk.phases.sequences, walk.phases.rewards
    whole = timeline(walk, 1).rewards[0]
    assert whole == pytest.approx((sequences * rewards).sum(0) / sequences.sum(0))
