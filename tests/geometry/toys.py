"""Terrains whose shape is known, and one small network, for the tests of what measures them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn

from andrea.model.gpt import GPT
from tests import networks

SCALE = replace(networks.SCALE, segments=1, d_model=8, n_heads=2, n_layers=1, context=8)


class Quadratic(nn.Module):
    """Loss (w - centre)' A (w - centre) / 2 over two matrices laid end to end, in float64."""

    def __init__(self, hessian: Tensor, start: Tensor, centre: Tensor | None = None) -> None:
        super().__init__()
        self.hessian = hessian.double()
        self.centre = (start if centre is None else centre).double().clone()
        half = start.numel() // 2
        self.first = nn.Parameter(start[:half].double().clone().view(-1, 2))
        self.second = nn.Parameter(start[half:].double().clone().view(-1, 2))

    def flat(self) -> Tensor:
        """The weights as one vector."""
        return torch.cat([self.first.flatten(), self.second.flatten()])

    def at(self, flat: Tensor) -> float:
        """The height at a point."""
        away = flat.double() - self.centre
        return float(away @ self.hessian @ away) / 2

    def parts(self) -> Iterator[Tensor]:
        """The loss as a sum of two parts."""
        for share in (0.25, 0.75):
            away = self.flat() - self.centre
            yield share * (away @ self.hessian @ away) / 2

    @torch.no_grad()
    def loss(self) -> float:
        """The loss with the present weights."""
        return self.at(self.flat())


def bowl(seed: int = 1) -> Quadratic:
    """Eight weights, curved differently along every axis, not at the bottom."""
    return Quadratic(symmetric(torch.arange(1.0, 9.0), seed), numbers(8, 2), numbers(8, 3))


def flat(weights: Iterable[Tensor]) -> Tensor:
    """All of them as one vector, float64."""
    return torch.cat([one.detach().flatten().double() for one in weights])


def network() -> GPT:
    """One layer, and no weight zero."""
    torch.set_num_threads(1)
    return networks.network(SCALE)


def batch() -> tuple[Tensor, Tensor]:
    """Three rows of a whole context."""
    generator = torch.Generator().manual_seed(5)
    tokens = torch.randint(0, SCALE.vocabulary, (3, SCALE.context + 1), generator=generator)
    return tokens[:, :-1], tokens[:, 1:]


def bits(model: nn.Module) -> list[bytes]:
    """The weights, byte by byte."""
    return [weights.detach().numpy().tobytes() for weights in model.parameters()]


def numbers(count: int, seed: int) -> Tensor:
    """Standard normal, float64."""
    return torch.randn(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def symmetric(eigenvalues: Tensor, seed: int) -> Tensor:
    """A matrix with these eigenvalues and drawn eigenvectors."""
    size = len(eigenvalues)
    turn, _ = torch.linalg.qr(numbers(size * size, seed).view(size, size))
    return turn @ torch.diag(eigenvalues.double()) @ turn.T
