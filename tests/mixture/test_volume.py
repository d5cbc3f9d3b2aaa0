from __future__ import annotations

import math

import numpy as np
import pytest

from andrea.mixture import volume
from andrea.mixture.simplex import Region, draw, face
from andrea.mixture.volume import centre, log10_share
from tests.mixture.exact import marginal_cdf, share_of_simplex


def test_golden_share(golden: Region) -> None:
    assert share_of_simplex(golden) == pytest.approx(0.1875, abs=1e-15)
    assert centre(golden) == pytest.approx(np.array([25, 7, 4]) / 36, abs=1e-15)


def test_dimension_and_share_of_the_default_regimes(regimes: dict[str, Region]) -> None:
    assert log10_share(regimes["warmup"]) == (0.0, 6)
    assert log10_share(regimes["firehose"]) == (0.0, 15)
    share, dimension = log10_share(regimes["polish"])
    assert dimension == 13
    assert share == pytest.approx(13 * math.log10(1 - 0.78), abs=1e-12)


def test_pinned_weights_leave_the_problem() -> None:
    """Three sources that share one half, one of them capped at half of that."""
    pinned = Region(np.array([0.5, 0, 0, 0, 0]), np.array([0.5, 1, 1, 0.25, 0]))
    assert share_of_simplex(pinned) == pytest.approx(0.75, abs=1e-15)
    point = Region(np.array([0.5, 0.5]), np.array([1.0, 1.0]))
    assert log10_share(point) == (0.0, 0)
    assert centre(point).tolist() == [0.5, 0.5]


def test_small_shares_do_not_drown_in_cancellation() -> None:
    """Caps just above 1/k leave the mirrored corner: its share is (k excess)^(k - 1)."""
    k, excess = 16, 1e-4
    region = Region(np.zeros(k), np.full(k, 1 / k + excess))
    expected = (k - 1) * math.log10(k * excess)
    assert log10_share(region)[0] == pytest.approx(expected, abs=1e-9)


def test_the_integral_equals_the_exact_sum(hard: Region) -> None:
    rng = np.random.default_rng(2)
    regions = [Region(np.zeros(k), rng.uniform(0.5, 2.5, k) / k) for k in (6, 9, 12, 14)]
    for region in [*regions, hard]:
        inside = face(region)
        whole = inside.mass + inside.lower.sum()
        log = volume._log_by_inversion(inside.room, inside.mass)
        log += (inside.free.size - 1) * math.log(inside.mass / whole)
        assert log / math.log(10) == pytest.approx(log10_share(region)[0], abs=1e-10)


def test_many_different_caps_go_to_the_integral(monkeypatch: pytest.MonkeyPatch) -> None:
    region = Region(np.zeros(16), np.random.default_rng(0).uniform(0.08, 0.12, 16))
    by_integral, dimension = log10_share(region)
    monkeypatch.setattr(volume, "SUMS_LIMIT", 2**16)
    by_sum, _ = log10_share(region)
    assert dimension == 15
    assert by_integral != by_sum
    assert by_integral == pytest.approx(by_sum, abs=1e-10)


@pytest.mark.parametrize("caps", [(0.08, 0.12), (0.061, 0.09), (0.02, 0.5)])
def test_the_centre_by_integral_equals_the_exact_one(
    caps: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle, in the mirrored corner, and with caps that differ much."""
    floors = np.append(0.1, np.zeros(11))
    caps_of_all = np.random.default_rng(0).uniform(*caps, 12) * 16 / 12 + floors
    region = Region(floors, caps_of_all)
    exact = centre(region)
    monkeypatch.setattr(volume, "SUMS_LIMIT", 1)
    by_integral = centre(region)
    assert (by_integral != exact).any()
    assert by_integral == pytest.approx(exact, abs=1e-11)


def test_the_centre_of_twenty_different_caps_is_the_mean_of_draws() -> None:
    region = Region(np.zeros(20), np.linspace(0.02, 0.3, 20))
    rng = np.random.default_rng(0)
    drawn = np.array([draw(region, rng) for _ in range(2000)])
    deviation = drawn.std(axis=0) / math.sqrt(len(drawn))
    assert (np.abs(drawn.mean(axis=0) - centre(region)) < 4 * deviation).all()


def test_forty_different_caps_take_no_time() -> None:
    assert centre(Region(np.zeros(40), np.linspace(0.03, 0.04, 40))).sum() == pytest.approx(1)
    share, dimension = log10_share(Region(np.zeros(40), np.linspace(0.03, 0.04, 40)))
    assert dimension == 39
    assert -20 < share < -5


def test_marginal_cdf_of_the_simplex_is_a_beta_law() -> None:
    region = Region(np.zeros(5), np.ones(5))
    weights = np.array([-1, 0, 0.1, 0.5, 1, 2])
    expected = 1 - (1 - np.clip(weights, 0, 1)) ** 4
    assert marginal_cdf(region, 3, weights) == pytest.approx(expected, abs=1e-15)


def test_centre_is_the_mean_of_the_marginals(hard: Region) -> None:
    middle = centre(hard)
    assert middle.sum() == pytest.approx(1, abs=1e-12)
    grid = np.linspace(0, 0.4, 4001)
    above = 1 - marginal_cdf(hard, 15, grid)
    assert np.trapezoid(above, grid) == pytest.approx(middle[15], abs=1e-6)
