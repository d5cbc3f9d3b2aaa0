"""The loss around and between checkpoints: slices along random directions, and a plane.

A network's weights are one point; the loss on a fixed batch is the height there. Two kinds of
picture are made. *Slices* leave one checkpoint along random directions, each row of a matrix moved
by a share of its own length (Li et al. 2018, "Visualizing the Loss Landscape of Neural Nets"), so
that rows of different size are treated alike. The *plane* is the one on which several checkpoints
lie best (principal components of the weight vectors); lengths in it are true ones.

Every function here moves the weights of the network it is given and puts them back bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from andrea.model.gpt import GPT
from andrea.seeds import Purpose

Floats = NDArray[np.float64]
Weights = Sequence[Tensor]  # in the order of `model.parameters()`
Loss = Callable[[], float]  # mean nats per token on the fixed batch, with the present weights

BLOCK_COLUMNS = 2**20  # of the table of weight vectors: 8 MB per checkpoint in float64
FLAT = 1e-12  # share of the variance below which an axis is rounding


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
        origin: matrices.
        seed: of the run.
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
    """Loss along random directions through one checkpoint.

    Look at how soon the curves leave the bottom and whether they agree. A curve that falls below
    its middle says that the batch is not at its minimum there.

    Attributes:
        distances: shares of every row's own length, (n,); 0 is the checkpoint.
        nats: loss, (directions, n).
    """

    distances: Floats
    nats: Floats


def slices(
    model: nn.Module, loss: Loss, seed: int, directions: int, distances: Sequence[float]
) -> Slices:
    """Measure the loss along `directions` filter-normalised random directions.

    Args:
        model: at the checkpoint; it is left as it is.
        loss: on the fixed batch.
        seed: of the run; direction d is that of `random_direction(..., seed, d)`.
        directions: how many.
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


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane nearest to n checkpoints, in Euclidean lengths of the whole weight vector.

    Attributes:
        centre: their mean.
        axes: two orthogonal directions of length 1, the first along most of the variance.
        path: coordinates of the checkpoints' shadows in the plane, (n, 2).
        off_plane: how far each checkpoint is from its shadow, (n,).
        explained: share of the checkpoints' variance along each axis, (2,).
    """

    centre: list[Tensor]
    axes: tuple[list[Tensor], list[Tensor]]
    path: Floats
    off_plane: Floats
    explained: Floats


@torch.no_grad()
def fit_plane(checkpoints: Sequence[Weights]) -> Plane:
    """Principal components of a few long vectors (as Li et al. 2018 draw a path; centred).

    Their n x n Gram matrix has the components' coordinates as eigenvectors, so nothing of the
    size weights x weights is ever made. Not filter-normalised: distances are the true ones. The
    sign of each axis makes the coordinate of the last checkpoint positive (or, where that is 0,
    is arbitrary but fixed).

    Args:
        checkpoints: in the order of the run, at least 3, not all on one line.

    Raises:
        ValueError: they do not span a plane.
    """
    count = len(checkpoints)
    gram = np.zeros((count, count))
    for tensors in zip(*checkpoints, strict=True):
        vectors = torch.stack([tensor.detach().flatten() for tensor in tensors])
        for block in torch.split(vectors, BLOCK_COLUMNS, dim=1):
            shifted = block.cpu().double()
            shifted -= shifted[:1].clone()  # before the products, which would lose small changes
            gram += (shifted @ shifted.T).numpy()
    centring = np.eye(count) - 1 / count
    gram = centring @ gram @ centring
    variances, vectors_nn = np.linalg.eigh((gram + gram.T) / 2)
    variances, vectors_nn = variances[::-1], vectors_nn[:, ::-1]
    if count < 3 or variances[1] <= FLAT * variances[0]:
        raise ValueError(f"{count} checkpoints that lie on one line span no plane")
    lengths = np.sqrt(variances[:2])
    signs = np.where(vectors_nn[-1, :2] < 0, -1.0, 1.0)
    path = vectors_nn[:, :2] * lengths * signs
    mixes = path / variances[:2]  # (n, 2): each axis as a mix of the centred checkpoints
    squares = np.diag(gram) - (path**2).sum(1)
    centre, first, second = (
        [_mix(tensors, weights) for tensors in zip(*checkpoints, strict=True)]
        for weights in (np.full(count, 1 / count), mixes[:, 0], mixes[:, 1])
    )
    return Plane(
        centre=centre,
        axes=(first, second),
        path=path,
        off_plane=np.sqrt(np.maximum(squares, 0)),
        explained=variances[:2] / variances.sum(),
    )


@dataclass(frozen=True, eq=False)
class PlanePicture:
    """All that a contour map of the plane needs; lengths are Euclidean, losses in nats per token.

    Look at whether the path runs down a slope or along a valley, and at whether two checkpoints
    have a ridge between them. Trust it as far as `off_plane` is small beside the path and
    `path_nats` is near `shadow_nats`: the map shows the ground under the shadows.

    Attributes:
        x: grid coordinates along the first axis, (n,).
        y: along the second, (n,).
        nats: loss on the grid, (n, n): row i is at `y[i]`.
        path: shadows of the checkpoints, (checkpoints, 2).
        path_nats: loss at the checkpoints themselves.
        shadow_nats: loss at their shadows.
        off_plane: distance of each checkpoint from its shadow.
        explained: share of the checkpoints' variance along each axis, (2,).
    """

    x: Floats
    y: Floats
    nats: Floats
    path: Floats
    path_nats: Floats
    shadow_nats: Floats
    off_plane: Floats
    explained: Floats


def plane_picture(
    model: nn.Module, checkpoints: Sequence[Weights], loss: Loss, points: int, margin: float
) -> PlanePicture:
    """Measure the loss on a grid over the plane of the checkpoints.

    Args:
        model: any weights; it is left as it is.
        checkpoints: weights in the order of the run, as for `fit_plane`.
        loss: on the fixed batch.
        points: n, of the grid along each axis.
        margin: how far the grid reaches beyond the path on each side, as a share of the path's
            extent along that axis.

    Raises:
        ValueError: the checkpoints do not span a plane.
    """
    plane = fit_plane(checkpoints)
    low, high = plane.path.min(0), plane.path.max(0)
    edge = margin * (high - low)
    x, y = np.linspace(low - edge, high + edge, points, axis=1)
    nats = np.empty((points, points))
    with probing(model):
        for row, up in enumerate(y):
            start = _along(plane.centre, plane.axes[1], up)
            for column, right in enumerate(x):
                move(model, start, plane.axes[0], right)
                nats[row, column] = loss()
        path_nats, shadow_nats = np.empty((2, len(checkpoints)))
        for number, (right, up) in enumerate(plane.path):
            put(model, checkpoints[number])
            path_nats[number] = loss()
            move(model, _along(plane.centre, plane.axes[1], up), plane.axes[0], right)
            shadow_nats[number] = loss()
    return PlanePicture(
        x=x,
        y=y,
        nats=nats,
        path=plane.path,
        path_nats=path_nats,
        shadow_nats=shadow_nats,
        off_plane=plane.off_plane,
        explained=plane.explained,
    )


def _mix(tensors: Weights, weights_n: Floats) -> Tensor:
    """The sum of tensors times weights, taken about the first one in float64 on the CPU."""
    base = tensors[0].cpu().double()
    total = base * float(weights_n.sum())
    for tensor, weight in zip(tensors, weights_n, strict=True):
        total += float(weight) * (tensor.cpu().double() - base)
    return total.to(tensors[0].device, tensors[0].dtype)


def _along(origin: Weights, direction: Weights, distance: float) -> list[Tensor]:
    return [start + distance * step for start, step in zip(origin, direction, strict=True)]
