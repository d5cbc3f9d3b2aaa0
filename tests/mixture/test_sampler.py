from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from andrea.common.codec import decode, encode
from andrea.mixture import sampler
from andrea.mixture.sampler import SamplerState, permuted, plan
from andrea.mixture.simplex import Region, draw


def _mixture(rng: np.random.Generator, k: int) -> np.ndarray:
    weights = rng.dirichlet(np.full(k, rng.choice([0.1, 0.3, 1, 5])))
    weights[rng.random(k) < 0.2] = 0
    weights[rng.integers(k)] += 1e-9
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("seed", range(8))
def test_a_fresh_phase_stays_within_one_sequence_of_its_target(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 25))
    weights, rows, sizes = _mixture(rng, k), int(rng.integers(1, 17)), np.full(k, 50)
    state = sampler.init(k)
    for step in range(1, 43):
        _, state = plan(state, weights, rows, sizes, 0)
        assert (np.abs(np.array(state.cursors) - weights * rows * step) < 1).all()


@pytest.mark.parametrize("seed", range(8))
def test_the_whole_run_stays_within_two_sequences_of_its_target(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, rows = int(rng.integers(2, 25)), int(rng.integers(1, 17))
    state, target = sampler.init(k), np.zeros(k)
    for _ in range(40):
        weights = rng.dirichlet(np.full(k, rng.choice([0.1, 0.3, 1, 5])))
        for _ in range(int(rng.integers(7, 43))):
            _, state = plan(state, weights, rows, np.full(k, 50), 0)
            target += weights * rows
            assert (np.abs(np.array(state.cursors) - target) < 2).all()
            assert sum(state.remainders) == pytest.approx(0, abs=1e-9)


def test_an_excluded_source_loses_its_remainder_and_is_never_drawn(
    regimes: dict[str, Region],
) -> None:
    state, sizes = sampler.init(16), np.full(16, 30)
    rng = np.random.default_rng(0)
    for name in ("warmup", "firehose", "polish", "warmup", "polish"):
        region = regimes[name]
        excluded = ~region.active
        before = np.array(state.cursors)
        for _ in range(12):
            weights = draw(region, rng)
            for _ in range(7):
                planned, state = plan(state, weights, 8, sizes, 0)
                assert not excluded[planned.source].any()
                assert (np.array(state.remainders)[excluded] == 0).all()
        assert (np.array(state.cursors)[excluded] == before[excluded]).all()
        assert (np.array(state.cursors)[~excluded] >= before[~excluded]).all()


def test_an_empty_source_may_only_be_excluded() -> None:
    planned, _ = plan(sampler.init(3), [0.5, 0.5, 0], 4, [9, 9, 0], 0)
    assert planned.source.tolist() == [0, 1, 0, 1]
    with pytest.raises(ValueError, match=r"sources \[2\]"):
        plan(sampler.init(3), [0.5, 0.25, 0.25], 4, [9, 9, 0], 0)


def test_every_epoch_reads_every_sequence_once_in_its_own_order() -> None:
    state, sizes = sampler.init(2), np.array([300, 700])
    seen: dict[tuple[int, int], list[int]] = {}
    for _ in range(300):
        planned, state = plan(state, [0.5, 0.5], 8, sizes, 5)
        for row in range(8):
            key = int(planned.source[row]), int(planned.epoch[row])
            seen.setdefault(key, []).append(int(planned.position[row]))
    for (source, epoch), places in seen.items():
        assert len(set(places)) == len(places)
        assert places == permuted(5, source, epoch, np.arange(len(places)), sizes[source]).tolist()
    assert sorted(seen[0, 0]) == list(range(300))
    assert seen[0, 0] != seen[0, 1]
    assert state.cursors == (1200, 1200)


@settings(derandomize=True, max_examples=60, deadline=None, database=None)
@given(st.integers(1, 3000), st.integers(0, 2**40), st.integers(0, 15), st.integers(0, 99))
def test_permuted_is_a_bijection(n: int, seed: int, source: int, epoch: int) -> None:
    places = permuted(seed, source, epoch, np.arange(n), n)
    assert sorted(places.tolist()) == list(range(n))


@pytest.mark.parametrize("n", [*range(1, 40), 127, 128, 129, 1000, 4096, 4097, 100_003])
def test_permuted_is_a_bijection_at_awkward_lengths(n: int) -> None:
    places = permuted(1, 2, 3, np.arange(n), n)
    assert (np.sort(places) == np.arange(n)).all()
    middle = n // 2
    assert permuted(1, 2, 3, [middle], n)[0] == places[middle]


def test_permuted_reaches_far() -> None:
    n = 10**12
    places = permuted(0, 0, 0, np.arange(1000), n)
    assert len(set(places.tolist())) == 1000
    assert places.min() >= 0
    assert n / 2 < places.max() < n


def test_orders_look_random() -> None:
    n, keys = 4, 1200
    places = np.array([permuted(0, 1, epoch, np.arange(n), n) for epoch in range(keys)])
    for first in range(n):
        assert chisquare(np.bincount(places[:, first], minlength=n)).pvalue > 1e-3
    orders = np.unique(places, axis=0, return_counts=True)[1]
    assert orders.size == 24
    assert chisquare(orders).pvalue > 1e-3
    long = permuted(0, 0, 0, np.arange(20_000), 20_000)
    assert abs(np.corrcoef(long[1:], long[:-1])[0, 1]) < 0.03
    assert abs(np.corrcoef(long, np.arange(20_000))[0, 1]) < 0.03


def test_every_part_of_the_key_matters() -> None:
    orders = [
        tuple(permuted(seed, source, epoch, np.arange(100), 100).tolist())
        for seed, source, epoch in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0)]
    ]
    assert len(set(orders)) == 5


def test_golden_order() -> None:
    """The order is part of every result: a change of the cipher must be meant."""
    assert permuted(0, 0, 0, np.arange(10), 10).tolist() == [2, 4, 1, 7, 0, 5, 8, 9, 6, 3]


def test_a_resumed_sampler_goes_on_identically() -> None:
    rng = np.random.default_rng(0)
    state = sampler.init(5)
    for _ in range(30):
        weights, sizes = rng.dirichlet(np.ones(5)), np.array([3, 50, 7, 1, 400])
        again = decode(
            json.loads(json.dumps(encode(state), allow_nan=False)), SamplerState, "state"
        )
        assert again == state
        first, state = plan(state, weights, 8, sizes, 2)
        second, after = plan(again, weights, 8, sizes, 2)
        assert after == state
        assert (first.position == second.position).all()
        assert (first.source == second.source).all()
        assert (first.epoch == second.epoch).all()
