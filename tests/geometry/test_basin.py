"""Widths of basins whose shape is known, and the comparison of two runs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from andrea.common.seeds import Purpose
from andrea.geometry.terrain.measure.basin import (
    CAVEATS,
    Radii,
    adaptive_sharpness,
    compare,
    pac_bayes_sigma,
    radii,
)
from andrea.geometry.terrain.measure.crossing import PRECISION
from andrea.geometry.terrain.measure.hessian import parts_on
from andrea.geometry.terrain.measure.surface import gaussians, loss_on, random_direction
from tests.geometry.toys import Quadratic, batch, bits, network, numbers, symmetric


def test_a_loss_that_is_high_everywhere_else_has_no_basin() -> None:
    model = Quadratic(torch.eye(8), numbers(8, 1))
    bottom = model.flat().detach()
    found = radii(model, lambda: float(not torch.equal(model.flat(), bottom)), 7, 2)
    assert not found.radii.any()


@pytest.mark.parametrize("curvature", [0.2, 3.0])
def test_the_radius_of_a_round_bowl_is_the_same_in_every_direction(curvature: float) -> None:
    """A direction is as long as the weights, so the rise is c r^2 |w|^2 / 2."""
    model = Quadratic(curvature * torch.eye(8), numbers(8, 1))
    found = radii(model, model.loss, 7, 16, (0.1, 0.5))
    length = float(model.flat().detach().norm())
    expected = np.sqrt(2 * np.array([0.1, 0.5]) / curvature) / length
    np.testing.assert_allclose(found.radii, np.tile(expected, (16, 1)), rtol=PRECISION)
    np.testing.assert_allclose(found.quartiles, np.tile(expected, (3, 1)), rtol=PRECISION)


def test_the_radius_of_any_bowl_is_analytic() -> None:
    model = Quadratic(symmetric(torch.logspace(-1, 1, 8), 4), numbers(8, 1))
    found = radii(model, model.loss, 7, 5, (0.1, 0.5))
    origin = [weights.detach().clone() for weights in model.parameters()]
    for number in range(5):
        direction = torch.cat([one.flatten() for one in random_direction(origin, 7, number)])
        bend = float(direction @ model.hessian @ direction)
        np.testing.assert_allclose(
            found.radii[number], np.sqrt(2 * np.array([0.1, 0.5]) / bend), rtol=PRECISION
        )
    expected = [np.percentile(found.radii[:, 0], share) for share in (25, 50, 75)]
    np.testing.assert_allclose(found.quartiles[:, 0], expected)


def test_sigma_on_a_bowl_is_analytic() -> None:
    model = Quadratic(symmetric(torch.logspace(-1, 1, 8), 4), numbers(8, 1))
    found = pac_bayes_sigma(model, model.loss, 7, 6, 0.1)
    bends = []
    for number in range(6):
        normals = gaussians(list(model.parameters()), [7, Purpose.WEIGHT_NOISE, number])
        noise = torch.cat([one.flatten() for one in normals]) * model.flat().detach()
        bends.append(float(noise @ model.hessian @ noise) / 2)
    assert found.sigma == pytest.approx(math.sqrt(0.1 / np.mean(bends)), rel=PRECISION)
    np.testing.assert_allclose(found.rises_nats, np.array(bends) * found.sigma**2, rtol=1e-6)
    assert found.rises_nats.mean() == pytest.approx(0.1, rel=PRECISION * 1.01)


def test_on_a_slope_the_worst_step_is_as_long_as_it_may_be() -> None:
    """For a linear loss g w the maximum over |e / w| <= rho is rho |w g|, and one step finds it."""
    model = Quadratic(torch.eye(8), numbers(8, 1))
    slope = numbers(8, 2)

    def height() -> torch.Tensor:
        return (model.flat() * slope).sum()

    found = adaptive_sharpness(
        model, lambda: float(height().detach()), lambda: [height()], (0.1, 0.5)
    )
    length = float((model.flat().detach() * slope).norm())
    np.testing.assert_allclose(found, [0.1 * length, 0.5 * length])


def test_no_step_of_its_length_is_worse_near_the_checkpoint() -> None:
    """Against many drawn steps with |e / w| = rho."""
    model, (inputs, targets) = network(), batch()
    loss = loss_on(model, inputs, targets, 3)
    (worst,) = adaptive_sharpness(model, loss, parts_on(model, inputs, targets, 3), (0.5,))
    bottom, drawn = loss(), []
    origin = [weights.detach().clone() for weights in model.parameters()]
    for number in range(20):
        normals = gaussians(origin, [1, number])
        length = math.sqrt(sum(float(one.square().sum()) for one in normals))
        with torch.no_grad():
            for weights, start, one in zip(model.parameters(), origin, normals, strict=True):
                weights.copy_(start * (1 + 0.5 * one / length))
        drawn.append(loss() - bottom)
    assert worst > 2 * max(drawn)


def test_at_the_bottom_there_is_no_worst_direction() -> None:
    model = Quadratic(torch.eye(8), numbers(8, 1))
    assert adaptive_sharpness(model, model.loss, model.parts, (0.5, 1.0)).tolist() == [0, 0]


def test_measures_leave_the_network_as_it_was_and_repeat_bit_for_bit() -> None:
    model, (inputs, targets) = network(), batch()
    loss, parts = loss_on(model, inputs, targets, 3), parts_on(model, inputs, targets, 3)
    before = bits(model)
    found = [
        radii(model, loss, 1, 3).radii.tobytes()
        + np.float64(pac_bayes_sigma(model, loss, 1, 2).sigma).tobytes()
        + adaptive_sharpness(model, loss, parts, (0.5,)).tobytes()
        for _ in range(2)
    ]
    assert found[0] == found[1]
    assert bits(model) == before
    assert all(weights.grad is None for weights in model.parameters())


def found_radii(values: np.ndarray) -> Radii:
    return Radii(7, (0.1, 0.5), values, np.quantile(values, [0.25, 0.5, 0.75], axis=0))


DRAWN = np.random.default_rng(3).uniform(0.1, 0.3, (16, 2))


def test_a_constant_gain_is_seen_through_directions_that_differ_more() -> None:
    """Paired: the directions vary by 0.2, the gain of 0.001 is found exactly."""
    for result, rise in zip(
        compare(found_radii(DRAWN + 0.001), found_radii(DRAWN), 5), (0.1, 0.5), strict=True
    ):
        assert result.rise_nats == rise
        assert result.answer == "wider"
        for value in (result.difference, result.low, result.high):
            assert value == pytest.approx(0.001)


def test_swapped_runs_give_the_opposite_answer() -> None:
    ours, theirs = found_radii(DRAWN * [1.1, 0.7]), found_radii(DRAWN)
    for one, other in zip(compare(ours, theirs, 5), compare(theirs, ours, 5), strict=True):
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
        assert one.difference == -other.difference
    assert [result.answer for result in compare(ours, theirs, 5)] == ["wider", "narrower"]


def test_no_difference_is_undecided() -> None:
    shaken = DRAWN + 0.03 * np.tile([[1.0], [-1.0]], (8, 1))
    for other in (DRAWN, shaken):
        for result in compare(found_radii(DRAWN), found_radii(other), 5):
            assert result.low <= 0 <= result.high
            assert result.answer == "undecided"


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """Pairs that differ by 0.02 on the median, 200 times over."""
    rng, hits = np.random.default_rng(6), 0
    for seed in range(200):
        common = rng.normal(0.2, 0.03, (24, 1))
        ours = found_radii(common + 0.02 + rng.normal(0, 0.01, (24, 2)))
        theirs = found_radii(common + rng.normal(0, 0.01, (24, 2)))
        result = compare(ours, theirs, seed, 200)[0]
        hits += result.low <= 0.02 <= result.high
    assert 0.88 <= hits / 200 <= 1


@pytest.mark.parametrize("changed", [{"seed": 8}, {"rises_nats": (0.1, 0.4)}])
def test_other_directions_do_not_compare(changed: dict[str, object]) -> None:
    ours = found_radii(DRAWN)
    with pytest.raises(ValueError, match="do not compare"):
        compare(ours, replace(ours, **changed), 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="do not compare"):
        compare(ours, found_radii(DRAWN[:8]), 5)


def test_a_basin_pressed_flat_is_called_wider() -> None:
    """From weights to the answer, on two bowls, one a little rounder."""
    spectrum = torch.logspace(-1, 1, 8)
    steep = Quadratic(symmetric(spectrum, 4), numbers(8, 1))
    flat = Quadratic(symmetric(0.8 * spectrum, 4), numbers(8, 1))
    results = compare(radii(flat, flat.loss, 7, 16), radii(steep, steep.loss, 7, 16), 5)
    assert [result.answer for result in results] == ["wider", "wider"]
    for result in results:
        ratio = result.with_polish / result.without_polish
        assert ratio == pytest.approx(0.8**-0.5, rel=2 * PRECISION)


def test_the_caveats_name_their_sources() -> None:
    text = " ".join(CAVEATS)
    for word in ("Dinh", "Andriushchenko", "same shape", "final step"):
        assert word in text
