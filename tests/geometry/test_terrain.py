"""Terrain: loss on a batch, moved weights and their return, slices, the plane."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from andrea.geometry.terrain.measure.plane import plane_picture
from andrea.geometry.terrain.measure.surface import (
    loss_on,
    move,
    probing,
    put,
    random_direction,
    slices,
)
from tests.geometry.toys import batch, bits, bowl, flat, network, numbers


@pytest.mark.parametrize("rows", [1, 2, 8])
def test_the_loss_is_the_mean_cross_entropy_however_it_is_cut(rows: int) -> None:
    model, (inputs, targets) = network(), batch()
    whole = functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
    assert loss_on(model, inputs, targets, rows)() == pytest.approx(whole.item(), rel=1e-6)


def test_weights_come_back_bit_for_bit_after_an_error() -> None:
    """Also those that arithmetic would not give back: -0, denormals, a NaN with a message."""
    model = network()
    odd = torch.tensor([-(2**31), 1, 0x7FC01234], dtype=torch.int32).view(torch.float32)
    with torch.no_grad():
        model.token[0, :3] = odd
    before = bits(model)
    with pytest.raises(KeyError), probing(model) as origin:
        move(model, origin, random_direction(origin, 0, 0), 0.3)
        assert bits(model) != before
        raise KeyError
    assert bits(model) == before


def test_slices_and_pictures_leave_weights_and_gradients_alone() -> None:
    model, (inputs, targets) = network(), batch()
    loss = loss_on(model, inputs, targets, 3)
    model.mean_nats(inputs, targets)[0].backward()  # type: ignore[no-untyped-call]
    gradients = [weights.grad.clone() for weights in model.parameters() if weights.grad is not None]
    before = bits(model)
    origin = [weights.detach().clone() for weights in model.parameters()]
    others = [[one + 0.1 * n for one in random_direction(origin, 0, n)] for n in range(3)]
    slices(model, loss, 0, 2, [-0.5, 0.5])
    plane_picture(model, others, loss, 2, 0.2)
    assert bits(model) == before
    for weights, gradient in zip(model.parameters(), gradients, strict=True):
        assert weights.grad is not None
        assert torch.equal(weights.grad, gradient)


def test_a_direction_moves_every_row_by_its_own_length() -> None:
    model = network()
    with torch.no_grad():
        model.token[5] = 0
    origin = [weights.detach() for weights in model.parameters()]
    for weights, step in zip(origin, random_direction(origin, 3, 1), strict=True):
        torch.testing.assert_close(step.norm(dim=1), weights.norm(dim=1))
    assert not random_direction(origin, 3, 1)[0][5].any()


def test_directions_are_pairs_across_checkpoints() -> None:
    """Same number, same draw: rows point the same way whatever the weights are."""
    first = [numbers(6, 1).view(3, 2), numbers(4, 2).view(2, 2)]
    second = [3.0 * one.flip(0) for one in first]
    for one, other in zip(
        random_direction(first, 3, 1), random_direction(second, 3, 1), strict=True
    ):
        torch.testing.assert_close(functional.normalize(one), functional.normalize(other))
    again, another, seed = (flat(random_direction(first, *key)) for key in [(3, 1), (3, 2), (4, 1)])
    assert torch.equal(again, flat(random_direction(first, 3, 1)))
    assert not torch.equal(again, another)
    assert not torch.equal(again, seed)


def test_slices_of_a_quadratic_are_the_parabolas() -> None:
    model, distances = bowl(), [-0.5, 0.0, 0.25, 1.0]
    found = slices(model, model.loss, 7, 3, distances)
    origin = [weights.detach().clone() for weights in model.parameters()]
    for number in range(3):
        direction = flat(random_direction(origin, 7, number))
        expected = [model.at(flat(origin) + distance * direction) for distance in distances]
        np.testing.assert_allclose(found.nats[number], expected, rtol=1e-6)
    assert (found.nats[:, 1] == model.loss()).all()


def test_equal_inputs_give_equal_bytes() -> None:
    (inputs, targets), found = batch(), []
    for _ in range(2):
        model = network()
        loss = loss_on(model, inputs, targets, 2)
        origin = [weights.detach().clone() for weights in model.parameters()]
        points = [origin, *(random_direction(origin, 0, n) for n in range(2))]
        found.append(
            slices(model, loss, 1, 2, [0.1, 0.4]).nats.tobytes()
            + plane_picture(model, points, loss, 2, 0.1).nats.tobytes()
        )
    assert found[0] == found[1]


def test_weights_of_another_shape_are_no_checkpoint() -> None:
    model: nn.Module = bowl()
    with pytest.raises(ValueError, match="zip"):
        put(model, [torch.zeros(2, 2)])
