from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from andrea.geometry.vectors.measure import frequency, spectrum

seeds = st.integers(0, 2**32 - 1)


def cloud(seed: int, n: int = 40, d: int = 6) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * rng.uniform(0.1, 3, d) + rng.standard_normal(d)


def with_variances(variances: list[float]) -> np.ndarray:
    """A cloud with just these variances along turned axes."""
    d = len(variances)
    corners = np.concatenate([np.eye(d), -np.eye(d)]) * np.sqrt(d * np.array(variances))
    turn = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0]
    return corners @ turn + 7


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_isotropy_is_what_its_authors_define(seed: int) -> None:
    """Rudman et al. 2022, steps 1 to 6 of IsoScore, written out."""
    vectors = cloud(seed)
    n = vectors.shape[1]
    diagonal = np.linalg.eigvalsh(np.cov(vectors.T))
    normed = math.sqrt(n) * diagonal / np.linalg.norm(diagonal)
    defect = np.linalg.norm(normed - 1) / math.sqrt(2 * (n - math.sqrt(n)))
    phi = (n - defect**2 * (n - math.sqrt(n))) ** 2 / n**2
    assert spectrum.spectrum(vectors).isotropy == pytest.approx((n * phi - 1) / (n - 1), abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_effective_rank_is_that_of_the_singular_values(seed: int) -> None:
    vectors = cloud(seed)
    values = np.linalg.svd(vectors - vectors.mean(axis=0), compute_uv=False)
    found = spectrum.spectrum(vectors)
    assert found.effective_rank == pytest.approx(math.exp(stats.entropy(values)))
    assert 1 <= found.participation_ratio <= found.effective_rank <= len(values)


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_ranks_count_the_directions_of_a_ball_in_a_wider_space(rank: int) -> None:
    found = spectrum.spectrum(with_variances([1.0] * rank + [0.0] * (5 - rank)))
    assert found.effective_rank == pytest.approx(rank, rel=1e-5)
    assert found.participation_ratio == pytest.approx(rank)
    assert found.isotropy == pytest.approx((rank - 1) / 4, abs=1e-9)
    np.testing.assert_allclose(found.shares, [1 / rank] * rank + [0] * (5 - rank), atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(seeds, st.floats(0.1, 10))
def test_ranks_do_not_depend_on_place_turn_and_size(seed: int, size: float) -> None:
    vectors = cloud(seed)
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((6, 6)))[0]
    one, other = spectrum.spectrum(vectors), spectrum.spectrum(size * vectors @ turn - 3)
    assert one.effective_rank == pytest.approx(other.effective_rank)
    assert one.isotropy == pytest.approx(other.isotropy)


def test_equal_vectors_have_no_spectrum() -> None:
    with pytest.raises(ValueError, match="all equal"):
        spectrum.spectrum(np.ones((4, 3)))
    with pytest.raises(ValueError, match="all equal"):
        spectrum.components(np.ones((4, 3)), np.arange(4), 2)


def test_a_component_that_is_frequency_is_found() -> None:
    """Frequency along one axis of large variance, noise along the others."""
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 1000, 200)
    vectors = rng.standard_normal((200, 4))
    vectors[:, 2] = 5 * np.log1p(counts)
    found = spectrum.components(vectors, counts, 3)
    assert found.correlation[0] == pytest.approx(1.0, abs=1e-3)
    assert (np.abs(found.correlation[1:]) < 0.2).all()
    assert found.shares[0] > 0.8 and (np.diff(found.shares) <= 0).all()


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_correlations_are_pearsons(seed: int) -> None:
    vectors = cloud(seed)
    counts = np.random.default_rng(seed).integers(0, 50, len(vectors))
    found = spectrum.components(vectors, counts, 6)
    left, values, _ = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    expected = [stats.pearsonr(column, np.log1p(counts)).statistic for column in left.T]
    np.testing.assert_allclose(np.abs(found.correlation), np.abs(expected), atol=1e-6)
    np.testing.assert_allclose(found.shares, values**2 / (values**2).sum(), atol=1e-12)


def test_equal_counts_correlate_with_nothing() -> None:
    assert spectrum.components(cloud(1), np.full(40, 3), 2).correlation.tolist() == [0, 0]


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(2, 15))
def test_mean_cosines_are_means_over_all_pairs(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((n, 3))
    vectors[0] = 0
    bins = frequency.bins(rng.integers(0, 20, n))
    found = spectrum.mean_cosines(vectors, bins)
    lengths = np.where(np.arange(n) > 0, np.linalg.norm(vectors, axis=1), 1.0)
    cosines = vectors @ vectors.T / np.outer(lengths, lengths)
    ordered = [(i, j) for i in range(n) for j in range(n) if i != j]
    assert found.any_pair == pytest.approx(np.mean([cosines[i, j] for i, j in ordered]))
    for a in range(len(bins.lowest)):
        for b in range(len(bins.lowest)):
            here = [cosines[i, j] for i, j in ordered if (bins.member[[i, j]] == (a, b)).all()]
            expected = np.mean(here) if here else np.nan
            assert found.by_bins[a, b] == pytest.approx(expected, nan_ok=True, abs=1e-12)
    inside = [
        np.mean([cosines[i, j] for j in range(n) if j != i and bins.member[j] == bins.member[i]])
        for i in range(n)
        if bins.sizes[bins.member[i]] > 1
    ]
    expected = np.mean(inside) if inside else np.nan
    assert found.same_bin == pytest.approx(expected, nan_ok=True, abs=1e-12)


def test_shells_of_like_frequency_show() -> None:
    """Two groups that point apart: no common direction, yet close inside each bin."""
    vectors = np.repeat([[1.0, 0.0], [-1.0, 0.0]], 10, axis=0)
    found = spectrum.mean_cosines(vectors, frequency.bins(np.repeat([5, 50], 10)))
    assert found.same_bin == pytest.approx(1.0)
    assert found.any_pair == pytest.approx(-1 / 19)
    np.testing.assert_allclose(found.by_bins, [[1, -1], [-1, 1]])
