"""The plane of a run: the one on which the points of its path lie best, with the loss over it.

The points are whole weight vectors, checkpoints and snapshots between them; their principal
components span the plane (Li et al. 2018 draw the path of a run so), and lengths in it are true
ones. At most one tensor of every point is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from andrea.geometry.terrain.measure.surface import Loss, Weights, move, probing, put

Floats = NDArray[np.float64]

BLOCK_COLUMNS = 2**20  # of the table of weight vectors, at most: 8 MB per point in float64
BLOCK_NUMBERS = 2**25  # of all points: 256 MB
FLAT = 1e-12  # share of the variance below which an axis is rounding


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane nearest to n points, in Euclidean lengths of the whole weight vector."""

    centre: list[Tensor]  # their mean
    # Two orthogonal directions of length 1, the first along most of the variance.
    axes: tuple[list[Tensor], list[Tensor]]
    path: Floats  # coordinates of the points' shadows in the plane, (n, 2)
    off_plane: Floats  # how far each point is from its shadow, (n,)
    explained: Floats  # share of the points' variance along each axis, (2,)


@torch.no_grad()
def fit_plane(points: Sequence[Weights]) -> Plane:
    """Principal components of a few long vectors (as Li et al. 2018 draw a path; centred).

    Their n x n Gram matrix has the components' coordinates as eigenvectors, so nothing of the
    size weights x weights is ever made. Not filter-normalised: distances are the true ones. The
    sign of each axis makes the coordinate of the last checkpoint positive (or, where that is 0,
    is arbitrary but fixed).

    Args:
        points: in the order of the run, at least 3, not all on one line.

    Raises:
        ValueError: they do not span a plane.
    """
    count = len(points)
    gram = _gram(points)
    centring = np.eye(count) - 1 / count
    gram = centring @ gram @ centring
    variances, vectors_nn = np.linalg.eigh((gram + gram.T) / 2)
    variances, vectors_nn = variances[::-1], vectors_nn[:, ::-1]
    if count < 3 or variances[1] <= FLAT * variances[0]:
        raise ValueError(f"{count} points that lie on one line span no plane")
    lengths = np.sqrt(variances[:2])
    signs = np.where(vectors_nn[-1, :2] < 0, -1.0, 1.0)
    path = vectors_nn[:, :2] * lengths * signs
    mixes = path / variances[:2]  # (n, 2): each axis as a mix of the centred points
    squares = np.diag(gram) - (path**2).sum(1)
    centre, first, second = _mixes(points, (np.full(count, 1 / count), mixes[:, 0], mixes[:, 1]))
    off_plane = np.sqrt(np.maximum(squares, 0))
    return Plane(centre, (first, second), path, off_plane, variances[:2] / variances.sum())


@dataclass(frozen=True, eq=False)
class PlanePicture:
    """All that a contour map of the plane needs; lengths are Euclidean, losses in nats per token.

    Trust it as far as `off_plane` is small beside the path and `path_nats` is near `shadow_nats`:
    the map shows the ground under the shadows.
    """

    x: Floats  # grid coordinates along the first axis, (n,)
    y: Floats  # along the second, (n,)
    nats: Floats  # loss on the grid, (n, n): row i is at `y[i]`
    path: Floats  # shadows of the points, (points, 2)
    path_nats: Floats  # loss at the points themselves
    shadow_nats: Floats  # loss at their shadows
    off_plane: Floats  # distance of each point from its shadow
    explained: Floats  # share of the points' variance along each axis, (2,)


def plane_picture(
    model: nn.Module, points: Sequence[Weights], loss: Loss, size: int, margin: float
) -> PlanePicture:
    """Measure the loss on a grid over the plane of the points, and at the points.

    Args:
        size: n, of the grid along each axis.
        margin: how far the grid reaches beyond the path on each side, as a share of the path's
            extent along that axis.

    Raises:
        ValueError: the points do not span a plane.
    """
    plane = fit_plane(points)
    low, high = plane.path.min(0), plane.path.max(0)
    edge = margin * (high - low)
    x, y = np.linspace(low - edge, high + edge, size, axis=1)
    nats = np.empty((size, size))
    with probing(model):
        for row, up in enumerate(y):
            start = _along(plane.centre, plane.axes[1], up)
            for column, right in enumerate(x):
                move(model, start, plane.axes[0], right)
                nats[row, column] = loss()
        path_nats, shadow_nats = np.empty((2, len(points)))
        for number, (right, up) in enumerate(plane.path):
            put(model, points[number])
            path_nats[number] = loss()
            move(model, _along(plane.centre, plane.axes[1], up), plane.axes[0], right)
            shadow_nats[number] = loss()
    return PlanePicture(
        x, y, nats, plane.path, path_nats, shadow_nats, plane.off_plane, plane.explained
    )


def _gram(points: Sequence[Weights]) -> Floats:
    """Products of all pairs of differences from the first point, in float64, (n, n)."""
    gram = np.zeros((len(points), len(points)))
    columns = min(BLOCK_COLUMNS, BLOCK_NUMBERS // len(points))
    for tensors in zip(*points, strict=True):
        split = [torch.split(tensor.detach().flatten(), columns) for tensor in tensors]
        for block in zip(*split, strict=True):
            shifted = torch.stack([numbers.cpu().double() for numbers in block])
            shifted -= shifted[:1].clone()  # before the products, which would lose small changes
            gram += (shifted @ shifted.T).numpy()
    return gram


def _mixes(points: Sequence[Weights], weights: Sequence[Floats]) -> list[list[Tensor]]:
    """Sums of the points, each time with other weights, in one pass over the points."""
    sums: list[list[Tensor]] = [[] for _ in weights]
    for tensors in zip(*points, strict=True):
        for total, weights_n in zip(sums, weights, strict=True):
            total.append(_mix(tensors, weights_n))
    return sums


def _mix(tensors: Sequence[Tensor], weights_n: Floats) -> Tensor:
    """The sum of tensors times weights, taken about the first one in float64 on the CPU."""
    base = tensors[0].cpu().double()
    total = base * float(weights_n.sum())
    for tensor, weight in zip(tensors, weights_n, strict=True):
        total += float(weight) * (tensor.cpu().double() - base)
    return total.to(tensors[0].device, tensors[0].dtype)


def _along(origin: Weights, direction: Weights, distance: float) -> list[Tensor]:
    return [start + distance * step for start, step in zip(origin, direction, strict=True)]
