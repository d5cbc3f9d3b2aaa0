"""The loss around a checkpoint, and slices of it along random directions.

A network's weights are one point; the loss on a fixed batch is the height there. *Slices* leave a
checkpoint along random directions, each row of a matrix moved by a share of its own length (Li et
al. 2018, "Visualizing the Loss Landscape of Neural Nets"), so that rows of different size are
treated alike. What measures puts the weights of the network it is given back bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from andrea.common.seeds import Purpose
from andrea.model.gpt import GPT

Floats = NDArray[np.float64]
# In the order of `model.parameters()`, gone through as often as is needed; they may lie in a file
# that is read one tensor at a time.
Weights = Iterable[Tensor]
Loss = Callable[[], float]  # mean nats per token on the fixed batch, with the present weights


def loss_on(model: GPT, inputs_BT: Tensor, targets_BT: Tensor, rows: int) -> Loss:
    """The height of the terrain: the network's loss on one fixed batch.

    Args:
        model: in fp32, on the device of the batch.
        inputs_BT: tokens, int64, T at most the context.
        targets_BT: the tokens after them, int64.
        rows: of the batch per forward pass.
    """
    parts = list(zip(torch.split(inputs_BT, rows), torch.split(targets_BT, rows), strict=True))

    def mean_nats() -> float:
        nats = sum(
            float(model.nats(inputs, targets).cpu().double().sum()) for inputs, targets in parts
        )
        return nats / targets_BT.numel()

    return mean_nats


@contextmanager
def probing(model: nn.Module) -> Iterator[Weights]:
    """Let the block move the weights; afterwards they are, bit for bit, what they were.

    They are put back after an error, too. Gradients held by the weights are left alone.

    Yields:
        A copy of the weights, from which `move` sets out.
    """
    origin = [weights.detach().clone() for weights in model.parameters()]
    try:
        yield origin
    finally:
        put(model, origin)


@torch.no_grad()
def put(model: nn.Module, values: Weights) -> None:
    """Copy `values` into the weights."""
    for weights, value in zip(model.parameters(), values, strict=True):
        weights.copy_(value)


@torch.no_grad()
def move(model: nn.Module, origin: Weights, direction: Weights, distance: float) -> None:
    """Set the weights to `origin + distance * direction`."""
    for weights, start, step in zip(model.parameters(), origin, direction, strict=True):
        weights.copy_(start).add_(step, alpha=distance)


def gaussians(like: Weights, key: Sequence[int]) -> list[Tensor]:
    """Standard normal numbers in the shapes of `like`, from numpy's generator.

    They depend on `key` and the shapes alone: the same for every checkpoint and on every device.
    """
    rng = np.random.default_rng(key)
    return [
        torch.from_numpy(rng.standard_normal(weights.shape, dtype=np.float32)).to(weights.device)
        for weights in like
    ]


def random_direction(origin: Weights, seed: int, number: int) -> list[Tensor]:
    """A random direction, filter-normalised (Li et al. 2018).

    Every row is scaled to the length of the row of `origin` that it would move: a row of a matrix
    makes one output feature, a row of a table stands for one token or position. So distance 0.1
    moves every row by a tenth of its length, and rows of zeros stay.

    Args:
        number: which direction; equal numbers give equal draws for every checkpoint, which is
            what makes directions of two checkpoints pairs.
    """
    drawn = gaussians(origin, [seed, Purpose.DIRECTION, number])
    return [
        normals * (weights.norm(dim=1, keepdim=True) / normals.norm(dim=1, keepdim=True))
        for weights, normals in zip(origin, drawn, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class Slices:
    """Loss along random directions through one checkpoint."""

    distances: Floats  # shares of every row's own length, (n,); 0 is the checkpoint
    nats: Floats  # loss, (directions, n)


def slices(
    model: nn.Module, loss: Loss, seed: int, directions: int, distances: Sequence[float]
) -> Slices:
    """Measure the loss along `directions` filter-normalised random directions.

    Args:
        distances: where, of either sign, in shares of every row's length.
    """
    nats = np.empty((directions, len(distances)))
    with probing(model) as origin:
        for number in range(directions):
            direction = random_direction(origin, seed, number)
            for place, distance in enumerate(distances):
                move(model, origin, direction, distance)
                nats[number, place] = loss()
    return Slices(np.array(distances, dtype=np.float64), nats)
