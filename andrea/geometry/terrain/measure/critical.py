"""How far one can go along an update of the optimiser, on the text of any source."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from andrea.geometry.terrain.measure.surface import Loss, Weights, move, probing

FARTHEST = 2.0**8  # factor between the first guess and either end of the search
HALVINGS = 4  # of the bracket: to 1/16


def last_update(model: nn.Module, optimizer: torch.optim.AdamW) -> list[Tensor]:
    """What AdamW takes from the weights per unit of learning rate, by the moments that it holds.

    These are the moments of the last step, so this is the last step gone on with; only the decay
    is that of the present weights.

    Raises:
        ValueError: no step has been taken.
    """
    means = []
    for weights in model.parameters():
        state = optimizer.state[weights]
        beta1, _ = optimizer.defaults["betas"]
        means.append(state["exp_avg"] / (1 - beta1 ** _steps(state)))
    return update_along(model, optimizer, means)


def update_along(model: nn.Module, optimizer: torch.optim.AdamW, slopes: Weights) -> list[Tensor]:
    """What AdamW would take if the mean of past gradients were `slopes` (Loshchilov & Hutter 2019).

    With the gradient of one source's loss this is the step which that source alone asks for, in the
    scales that the run has found.

    Raises:
        ValueError: no step has been taken, so there are no scales.
    """
    decays = {
        id(weights): group["weight_decay"]
        for group in optimizer.param_groups
        for weights in group["params"]
    }
    _, beta2 = optimizer.defaults["betas"]
    direction = []
    for weights, slope in zip(model.parameters(), slopes, strict=True):
        state = optimizer.state[weights]
        spread = (state["exp_avg_sq"] / (1 - beta2 ** _steps(state))).sqrt()
        decay = decays[id(weights)] * weights.detach()
        direction.append(slope / (spread + optimizer.defaults["eps"]) + decay)
    return direction


def _steps(state: dict[str, Tensor]) -> int:
    if not state["step"]:
        raise ValueError("no step has been taken, so there is no update to follow")
    return int(state["step"])


@dataclass(frozen=True)
class Critical:
    """How large a step along an update may be before the loss ends above its start.

    Along the run's last update and on one source's text, a rate below that of the last step says
    that training on this mixture is about to hurt the source. Along the source's own update it
    tells how narrow the valley is in which the source would have it go on.
    """

    # The critical learning rate: 0 where the loss rises at once, and the search's upper end where
    # it does not rise up to there.
    rate: float
    passes: int  # losses that were measured

    @property
    def sharpness(self) -> float | None:
        """`2 / rate`; larger is narrower; None where the loss rises at once."""
        return 2 / self.rate if self.rate else None


def critical_rate(model: nn.Module, update: Weights, loss: Loss, first_rate: float) -> Critical:
    """Critical learning rate along an update: beyond it the loss ends above its start.

    Kalra et al. 2026 (arXiv 2601.16979). As there, the rate is doubled or halved from a first guess
    until it is bracketed; then the bracket is halved four times and its middle taken: 1 + 2 + 4
    losses where the guess is near. Where update and loss are of different text, this is their
    *relative* critical sharpness.

    Args:
        update: what a step takes from the weights per unit of learning rate.
        first_rate: the guess, for example the rate of the last step; the search ends at `FARTHEST`
            times it and at its `FARTHEST`th part.
    """
    with probing(model) as origin:
        bottom = loss()

        def raises(rate: float) -> bool:
            move(model, origin, update, -rate)
            return not loss() <= bottom

        return _critical(raises, first_rate)


def _critical(raises: Callable[[float], bool], first: float) -> Critical:
    low, high, passes = 0.0, math.inf, 1
    rate = first
    while low == 0 or high == math.inf:
        passes += 1
        if raises(rate):
            high = rate
        else:
            low = rate
        if low >= first * FARTHEST:
            return Critical(low, passes)
        if high <= first / FARTHEST:
            return Critical(0.0, passes)
        rate = 2 * low if high == math.inf else high / 2
    for _ in range(HALVINGS):
        rate = (low + high) / 2
        low, high = (low, rate) if raises(rate) else (rate, high)
    return Critical((low + high) / 2, passes + HALVINGS)
