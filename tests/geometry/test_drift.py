from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes

from andrea.geometry.vectors.measure import drift, frequency

seeds = st.integers(0, 2**32 - 1)


def tables(seed: int, p: int = 2, V: int = 12, d: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((p, V, d))


def rotation(seed: int, d: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_movement_token_by_token(seed: int) -> None:
    found_tables = tables(seed, 3).astype(np.float32)
    bins = frequency.bins(np.random.default_rng(seed).integers(0, 200, 12))
    found = drift.movement(list(found_tables), bins)
    start, middle, end = found_tables.astype(float)
    for token in range(12):
        assert found.from_start[1, token] == pytest.approx(
            np.linalg.norm(end[token] - start[token])
        )
        assert found.in_regime[1, token] == pytest.approx(
            np.linalg.norm(end[token] - middle[token])
        )
        lengths = np.linalg.norm(start[token]) * np.linalg.norm(end[token])
        assert found.cosine[1, token] == pytest.approx(start[token] @ end[token] / lengths)
    assert (found.from_start[0] == found.in_regime[0]).all()
    for number in range(len(bins.lowest)):
        inside = found.in_regime[1][bins.member == number]
        expected = np.percentile(inside, [25, 50, 75])
        np.testing.assert_allclose(found.in_regime_quartiles[1, number], expected)
    assert found.from_start_quartiles.shape == found.cosine_quartiles.shape
    assert found.cosine_quartiles.shape == (2, len(bins.lowest), 3)


def test_what_never_moved_is_exactly_where_it_was() -> None:
    start = tables(1)[0].astype(np.float32)
    end = start.copy()
    end[5:] += 1
    found = drift.movement([start, end], frequency.bins(np.array([0] * 5 + [9] * 7)))
    assert (found.from_start_quartiles[0, 0] == 0).all()
    np.testing.assert_allclose(found.cosine_quartiles[0, 0], 1)
    np.testing.assert_allclose(found.from_start_quartiles[0, 1], 2, rtol=1e-6)


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_cka_is_that_of_centred_gram_matrices(seed: int) -> None:
    """Kornblith et al. 2019, through HSIC."""
    three = tables(seed, 3)
    found = drift.similarity(list(three))
    centring = np.eye(12) - 1 / 12

    def hsic(one: np.ndarray, other: np.ndarray) -> float:
        return float(np.trace(one @ one.T @ centring @ other @ other.T @ centring))

    for i, one in enumerate(three):
        for j, other in enumerate(three):
            expected = hsic(one, other) / np.sqrt(hsic(one, one) * hsic(other, other))
            assert found.cka[i, j] == pytest.approx(expected)
    np.testing.assert_allclose(np.diag(found.cka), 1)


@settings(max_examples=20, deadline=None)
@given(seeds, st.floats(0.1, 10))
def test_cka_does_not_see_rotation_scale_and_shift(seed: int, size: float) -> None:
    (one,) = tables(seed, 1)
    found = drift.similarity([one, size * one @ rotation(seed, 4) + 5])
    assert found.cka[0, 1] == pytest.approx(1)


def test_chance_is_the_mean_over_shuffles() -> None:
    one, other = tables(2, V=5, d=3)
    shuffled = [
        drift.similarity([one, other[list(order)]]).cka[0, 1] for order in permutations(range(5))
    ]
    assert drift.similarity([one, other]).chance[0, 1] == pytest.approx(np.mean(shuffled))


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_a_rotation_is_no_drift(seed: int) -> None:
    (before,) = tables(seed, 1)
    found = drift.drift(before, before @ rotation(seed, 4))
    assert found.rotated_off == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(found.distance, 0, atol=1e-12)
    assert found.apart > 0.01


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_drift_is_what_scipys_rotation_leaves(seed: int) -> None:
    before, after = tables(seed)
    best, _ = orthogonal_procrustes(before, after)
    found = drift.drift(before, after)
    np.testing.assert_allclose(
        found.distance, np.linalg.norm(before @ best - after, axis=1), atol=1e-9
    )
    assert found.rotated_off == pytest.approx(
        np.linalg.norm(before @ best - after) / np.linalg.norm(before)
    )
    assert found.rotated_off <= found.apart + 1e-12


def test_a_token_that_moved_alone_stands_out() -> None:
    """A body that turned, and one token that did not turn with it."""
    (before,) = tables(3, 1, V=200)
    after = before @ rotation(3, 4)
    after[17] = -after[17]
    found = drift.drift(before, after)
    assert found.distance.argmax() == 17
    assert found.distance[17] > 10 * np.delete(found.distance, 17).max()
