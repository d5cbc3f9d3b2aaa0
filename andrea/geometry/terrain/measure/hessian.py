"""The steepest curvature of the loss: the largest eigenvalue of its Hessian.

Products of the Hessian with a vector come from differentiating twice (Pearlmutter 1994), so the
matrix itself is never made. Lanczos finds the end of its spectrum from a few dozen products. No
vector but the last two is kept: the orthogonality that is then lost makes copies of eigenvalues
that have been found, and leaves the largest one right (Paige 1972).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from andrea.common.seeds import Purpose
from andrea.geometry.terrain.measure.surface import Weights, gaussians
from andrea.model.gpt import GPT

# Scalars whose sum is the mean loss, twice differentiable, each with a graph of its own.
Parts = Callable[[], Iterable[Tensor]]


def parts_on(model: GPT, inputs_BT: Tensor, targets_BT: Tensor, rows: int) -> Parts:
    """The mean loss of a fixed batch as a sum that can be differentiated twice.

    Attention is made of plain products, because the fused kernels have no second derivative, and
    neither has the blocked cross-entropy that training uses. So a part holds whole logits, several
    times `rows * T * V` numbers.

    Args:
        rows: of the batch per part; memory grows with it.
    """

    def parts() -> Iterator[Tensor]:
        for inputs, targets in zip(
            torch.split(inputs_BT, rows), torch.split(targets_BT, rows), strict=True
        ):
            with sdpa_kernel(SDPBackend.MATH):
                logits = model(inputs)
            nats = functional.cross_entropy(
                logits.flatten(0, 1), targets.flatten(), reduction="sum"
            )
            yield nats / targets_BT.numel()

    return parts


def gradient(model: nn.Module, parts: Parts) -> list[Tensor]:
    """Gradient of the loss at the present weights; the weights' own `.grad` is left alone."""
    weights = list(model.parameters())
    total = [torch.zeros_like(one) for one in weights]
    for part in parts():
        for so_far, more in zip(total, torch.autograd.grad(part, weights), strict=True):
            so_far += more
    return total


def hessian_times(model: nn.Module, parts: Parts, vector: Weights) -> list[Tensor]:
    """The Hessian at the present weights times a vector in their shapes (Pearlmutter 1994)."""
    weights = list(model.parameters())
    total = [torch.zeros_like(one) for one in weights]
    for part in parts():
        slopes = torch.autograd.grad(part, weights, create_graph=True)
        along = sum((slope * v).sum() for slope, v in zip(slopes, vector, strict=True))
        assert isinstance(along, Tensor)
        products = torch.autograd.grad(along, weights, materialize_grads=True)
        for so_far, more in zip(total, products, strict=True):
            so_far += more
    return total


@dataclass(frozen=True)
class TopEigenvalue:
    """The end of the Hessian's spectrum.

    A large value means one very steep direction; gradient descent without momentum would be
    unstable along it at rates above `2 / largest`. A `smallest` well below 0 says that the
    checkpoint is not at a minimum of this batch.
    """

    # Estimate of the largest eigenvalue, in nats per squared unit of weight; never above the true
    # one but for rounding.
    largest: float
    error: float  # some eigenvalue is this close to `largest` (norm of the residual)
    smallest: float  # estimate of the smallest eigenvalue from the same products; rougher
    products: int  # Hessian-vector products that were made


def top_eigenvalue(
    model: nn.Module, parts: Parts, seed: int, most_products: int, tolerance: float
) -> TopEigenvalue:
    """Lanczos from a random vector until the residual is small (Lanczos 1950; Paige 1972).

    Args:
        most_products: Hessian-vector products at most, each about as dear as 2 training steps.
        tolerance: it ends where the residual is at most this share of the eigenvalue.
    """
    before = [torch.zeros_like(one) for one in model.parameters()]
    present = _unit(gaussians(list(before), [seed, Purpose.DIRECTION, 0]))
    diagonal: list[float] = []
    beside: list[float] = []
    while True:
        ahead = hessian_times(model, parts, present)
        diagonal.append(_dot(ahead, present))
        for new, here, old in zip(ahead, present, before, strict=True):
            new -= diagonal[-1] * here
            if beside:
                new -= beside[-1] * old
        length = _dot(ahead, ahead) ** 0.5
        values, vectors = np.linalg.eigh(
            np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
        )
        largest, error = float(values[-1]), length * abs(float(vectors[-1, -1]))
        if error <= tolerance * abs(largest) or len(diagonal) == most_products:
            return TopEigenvalue(largest, error, float(values[0]), len(diagonal))
        beside.append(length)
        before, present = present, [one / length for one in ahead]


def _dot(one: Weights, other: Weights) -> float:
    return sum(float((a * b).sum().cpu().double()) for a, b in zip(one, other, strict=True))


def _unit(vector: Weights) -> list[Tensor]:
    length = _dot(vector, vector) ** 0.5
    return [one / length for one in vector]
