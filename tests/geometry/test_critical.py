"""Critical rates on parabolas, and updates against those that AdamW takes."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from andrea.config.training import Optimizer
from andrea.geometry.terrain.measure.critical import (
    FARTHEST,
    critical_rate,
    last_update,
    update_along,
)
from andrea.geometry.terrain.measure.hessian import gradient, parts_on
from andrea.geometry.terrain.measure.surface import loss_on
from andrea.model.gpt import GPT
from andrea.training import optimizer as adamw
from tests.geometry.toys import Quadratic, batch, bits, network, numbers, symmetric

CONFIG = Optimizer(
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    weight_decay=0.1,
    grad_clip=1.0,
    lr_warmup=0.1,
    final_lr=0.1,
)
RATE = 0.01


def slopes_of(model: Quadratic) -> list[Tensor]:
    return gradient(model, model.parts)


@pytest.mark.parametrize("curvature", [0.3, 2.0, 50.0])
def test_on_a_round_bowl_it_is_two_over_the_curvature(curvature: float) -> None:
    model = Quadratic(curvature * torch.eye(8), numbers(8, 1), torch.zeros(8))
    found = critical_rate(model, slopes_of(model), model.loss, 0.1)
    assert found.rate == pytest.approx(2 / curvature, rel=1 / 16)
    assert found.sharpness == pytest.approx(curvature, rel=1 / 16)


def test_on_any_bowl_it_is_the_directional_sharpness() -> None:
    model = Quadratic(symmetric(torch.arange(1.0, 9.0), 1), numbers(8, 2), numbers(8, 3))
    slopes = slopes_of(model)
    flat = torch.cat([one.flatten() for one in slopes])
    directional = float(flat @ model.hessian @ flat / (flat @ flat))
    found = critical_rate(model, slopes, model.loss, 0.1)
    assert found.sharpness == pytest.approx(directional, rel=1 / 16)


@pytest.mark.parametrize(("first", "passes"), [(1.9, 7), (3.9, 7), (0.9, 8), (7.9, 8)])
def test_a_near_guess_needs_seven_losses_or_so(first: float, passes: int) -> None:
    """The rate is 2: one loss to begin with, two or so for a bracket, four to halve it."""
    model = Quadratic(torch.eye(8), numbers(8, 1), torch.zeros(8))
    losses = 0

    def loss() -> float:
        nonlocal losses
        losses += 1
        return model.loss()

    found = critical_rate(model, slopes_of(model), loss, first)
    assert found.passes == losses == passes


def test_an_update_that_hurts_at_once_has_rate_zero() -> None:
    model = Quadratic(torch.eye(8), numbers(8, 1), torch.zeros(8))
    found = critical_rate(model, [-one for one in slopes_of(model)], model.loss, 0.1)
    assert found.rate == 0
    assert found.sharpness is None


def test_a_slope_without_an_end_ends_the_search() -> None:
    model = Quadratic(torch.eye(8), numbers(8, 1))
    update = [torch.ones_like(one) for one in model.parameters()]
    found = critical_rate(model, update, lambda: float(model.first.detach().sum()), 0.5)
    assert found.rate == 0.5 * FARTHEST


def test_a_loss_that_is_not_a_number_counts_as_a_rise() -> None:
    model = Quadratic(torch.eye(8), numbers(8, 1), torch.zeros(8))
    start = float(model.first.detach()[0, 0])

    def loss() -> float:
        return model.loss() if abs(float(model.first.detach()[0, 0]) - start) < 0.2 else math.nan

    update = slopes_of(model)
    found = critical_rate(model, update, loss, 0.1)
    assert found.rate == pytest.approx(0.2 / abs(float(update[0][0, 0])), rel=1 / 16)


def trained(steps: int) -> tuple[GPT, torch.optim.AdamW, list[Tensor]]:
    """A network after some steps, and its weights before the last."""
    model, (inputs, targets) = network(), batch()
    optimizer = adamw.make(model, CONFIG)
    before: list[Tensor] = []
    for _ in range(steps):
        before = [weights.detach().clone() for weights in model.parameters()]
        model.mean_nats(inputs, targets)[0].backward()  # type: ignore[no-untyped-call]
        adamw.step(optimizer, RATE)
    return model, optimizer, before


def test_the_last_update_is_what_adamw_took() -> None:
    model, optimizer, before = trained(3)
    after = [weights.detach().clone() for weights in model.parameters()]
    with torch.no_grad():  # the decay was that of the weights before
        for weights, value in zip(model.parameters(), before, strict=True):
            weights.copy_(value)
    for start, end, update in zip(before, after, last_update(model, optimizer), strict=True):
        torch.testing.assert_close(start - RATE * update, end, rtol=1e-5, atol=1e-6)


def test_a_first_step_goes_along_its_gradient() -> None:
    model, (inputs, targets) = network(), batch()
    slopes = gradient(model, parts_on(model, inputs, targets, 3))
    stepped, optimizer, before = trained(1)
    after = [weights.detach().clone() for weights in stepped.parameters()]
    with torch.no_grad():
        for weights, value in zip(stepped.parameters(), before, strict=True):
            weights.copy_(value)
    for start, end, update in zip(
        before, after, update_along(stepped, optimizer, slopes), strict=True
    ):
        torch.testing.assert_close(start - RATE * update, end, rtol=1e-3, atol=1e-5)


def test_before_the_first_step_there_is_no_update() -> None:
    model = network()
    with pytest.raises(ValueError, match="no step has been taken"):
        last_update(model, adamw.make(model, CONFIG))


def test_the_network_is_left_as_it_was() -> None:
    model, optimizer, _ = trained(2)
    before = bits(model)
    loss = loss_on(model, *batch(), rows=3)
    first, second = (
        critical_rate(model, last_update(model, optimizer), loss, RATE) for _ in range(2)
    )
    assert first == second
    assert first.rate > 0
    assert bits(model) == before
