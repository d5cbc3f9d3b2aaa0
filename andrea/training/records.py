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
    """A phase with what it earned."""

    phase: Phase
    scores: tuple[float | None, ...]  # of the sources as it began, (k,)
    rewards: tuple[float, ...]  # (k,)
    # Deviation of the estimate of each reward, (k,); None where it cannot be told yet.
    noise: tuple[float | None, ...]
    sequences: tuple[int, ...]  # trained, (k,)


@dataclass(frozen=True, eq=False)
class StepStats:
    """What one step did."""

    step: int  # from 0, over all regimes
    tokens: int  # read up to and with this step
    plan: Plan
    row_nats: Vector  # mean loss of each row, nats per token, (rows,)
    loss: float  # mean over the batch, nats per token
    loss_by_source: Vector  # the same by source, (k,); NaN where it had no row
    sequences: NDArray[np.int64]  # rows by source, (k,)
    weights: tuple[float, ...]  # the mixture that was asked for, (k,)
    kind: str  # of the phase
    lr: float  # learning rate
    grad_norm: float  # before clipping
    skipped: bool  # loss or gradient norm was not finite, so the weights stayed as they were
    finished: FinishedPhase | None  # the phase, if it ended with this step
