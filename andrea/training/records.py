"""What one step and one phase did, as the loop tells it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.mixture.curriculum import Phase
from andrea.mixture.sampler import Plan
from andrea.mixture.simplex import Vector


@dataclass(frozen=True)
class FinishedPhase:
    """A phase with what it earned.

    Attributes:
        phase: its kind, steps and weights.
        scores: of the sources as it began, (k,).
        rewards: (k,).
        noise: deviation of the estimate of each reward, (k,); None where it cannot be told yet.
        sequences: trained, (k,).
    """

    phase: Phase
    scores: tuple[float | None, ...]
    rewards: tuple[float, ...]
    noise: tuple[float | None, ...]
    sequences: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class StepStats:
    """What one step did.

    Attributes:
        step: from 0, over all regimes.
        tokens: read up to and with this step.
        plan: the rows of the batch.
        row_nats: mean loss of each row, nats per token, (rows,).
        loss: mean over the batch, nats per token.
        loss_by_source: the same by source, (k,); NaN where it had no row.
        sequences: rows by source, (k,).
        weights: the mixture that was asked for, (k,).
        kind: of the phase.
        lr: learning rate.
        grad_norm: before clipping.
        skipped: loss or gradient norm was not finite, so the weights stayed as they were.
        finished: the phase, if it ended with this step.
    """

    step: int
    tokens: int
    plan: Plan
    row_nats: Vector
    loss: float
    loss_by_source: Vector
    sequences: NDArray[np.int64]
    weights: tuple[float, ...]
    kind: str
    lr: float
    grad_norm: float
    skipped: bool
    finished: FinishedPhase | None
