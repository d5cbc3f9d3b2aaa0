"""The only loop: one regime's steps, from state to state.

Loss is the mean over all targets of a batch in nats; rewards see bits per byte.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from andrea.config.bandit import Bandit
from andrea.config.curriculum import Curriculum
from andrea.config.optimizer import Optimizer
from andrea.config.scale import Scale
from andrea.errors import UserError
from andrea.mixture import bandit, curriculum, rewards, sampler
from andrea.mixture.curriculum import Phase
from andrea.mixture.simplex import Region, Vector
from andrea.training import batches, optimizer, schedule
from andrea.training.batches import Stream
from andrea.training.machine import Machine
from andrea.training.state import OpenPhase, TrainState

SKIPS_ALLOWED = 2  # in a row; the next one stops the run


@dataclass(frozen=True)
class Settings:
    """What stays the same over a run."""

    seed: int
    scale: Scale
    optimizer: Optimizer
    bandit: Bandit
    curriculum: Curriculum
    machine: Machine


@dataclass(frozen=True)
class Data:
    """Token streams by source, in the order of the sources, and bytes per token id, (V,)."""

    train: Sequence[Stream]
    probe: Sequence[Stream]
    byte_lengths: NDArray[np.int64]


@dataclass(frozen=True)
class Regime:
    """A region of weights and the step before which it ends."""

    index: int
    region: Region
    end_step: int


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
        loss: mean over the batch, nats per token.
        loss_by_source: the same by source, (k,); NaN where it had no row.
        sequences: rows by source, (k,).
        weights: the mixture that was asked for, (k,).
        kind: of the phase.
        rate: learning rate.
        gradient_norm: before clipping; not finite where the step was skipped.
        finished: the phase, if it ended with this step.
    """

    step: int
    tokens: int
    loss: float
    loss_by_source: Vector
    sequences: NDArray[np.int64]
    weights: tuple[float, ...]
    kind: str
    rate: float
    gradient_norm: float
    finished: FinishedPhase | None


def run_regime(
    state: TrainState, regime: Regime, data: Data, settings: Settings
) -> Iterator[StepStats]:
    """Train `state` in place up to the regime's last step; yield after every step.

    Between two yields `state` is whole: saved there and restored, the run goes on with the same
    bytes.

    Raises:
        UserError: a source that may be drawn has no whole sequence, or three steps in a row had a
            loss or gradient that is not finite.
    """
    scale = settings.scale
    sizes = np.array([batches.count(stream, scale.context) for stream in data.train])
    features = torch.compile(state.model.features) if settings.machine.compile else None
    if features is not None:
        state.model.features = features  # type: ignore[method-assign]
    if state.step < regime.end_step and state.open_phase is None:
        state.curriculum = curriculum.enter_regime(state.curriculum, regime.region, settings.bandit)
    while state.step < regime.end_step:
        if state.open_phase is None:
            state.open_phase = _begin_phase(state, regime, data, settings)
        opened = state.open_phase
        plan, state.sampler = sampler.plan(
            state.sampler, opened.phase.weights, scale.rows * scale.accumulation, sizes,
            settings.seed,
        )  # fmt: skip
        stats = train_step(state, plan, data, settings)
        state.step += 1
        state.tokens = stats.tokens
        sequences = tuple((np.array(opened.sequences) + stats.sequences).tolist())
        state.open_phase = replace(opened, sequences=sequences)
        if state.step == opened.phase.end_step:
            stats = replace(stats, finished=_end_phase(state, regime, data, settings))
        yield stats


def train_step(state: TrainState, plan: sampler.Plan, data: Data, settings: Settings) -> StepStats:
    """One optimiser step on the planned rows; weights and moments change in place.

    A loss or gradient norm that is not finite leaves the weights as they are.

    Raises:
        UserError: that happened three times in a row.
    """
    scale, device = settings.scale, settings.machine.device
    k = len(data.train)
    nats, n_bytes = np.zeros(k), np.zeros(k)
    total = 0.0
    for first in range(0, plan.source.size, scale.rows):
        source = plan.source[first : first + scale.rows]
        position = plan.position[first : first + scale.rows]
        inputs, targets = batches.fetch(data.train, source, position, scale.context)
        with settings.machine.autocast():
            loss, losses = state.model.mean_nats(inputs.to(device), targets.to(device))
        (loss / scale.accumulation).backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach()) / scale.accumulation
        nats += np.bincount(source, _row_sums(losses), k)
        n_bytes += np.bincount(source, data.byte_lengths[targets.numpy()].sum(1), k)
    norm = optimizer.clip(state.model, settings.optimizer.clip)
    rate = schedule.rate(state.step, scale.steps, scale.peak_rate, settings.optimizer)
    if math.isfinite(total) and math.isfinite(norm):
        optimizer.step(state.optimizer, rate)
        state.skipped_in_a_row = 0
    else:
        _skip(state, total, norm)
    sequences = np.bincount(plan.source, minlength=k)
    seen = np.where(sequences > 0, sequences, np.nan)
    fresh = np.bincount(plan.source, plan.epoch > 0, k) == 0
    bits = nats / (math.log(2) * np.where(sequences > 0, np.maximum(n_bytes, 1), np.nan))
    state.curriculum = curriculum.observe_step(state.curriculum, bits, fresh)
    opened = state.open_phase
    assert opened is not None
    return StepStats(
        step=state.step,
        tokens=state.tokens + scale.step_tokens,
        loss=total,
        loss_by_source=nats / (seen * scale.context),
        sequences=sequences,
        weights=opened.phase.weights,
        kind=opened.phase.kind,
        rate=rate,
        gradient_norm=norm,
        finished=None,
    )


def probe_bits(state: TrainState, regime: Regime, data: Data, settings: Settings) -> Vector:
    """Loss on the first sequences of each source's probe in bits per byte, (k,).

    NaN for a source that the regime excludes, and for one whose probe is shorter than a sequence.
    """
    scale, device = settings.scale, settings.machine.device
    taken = [
        min(settings.bandit.probe_rows, batches.count(stream, scale.context)) if active else 0
        for stream, active in zip(data.probe, regime.region.active, strict=True)
    ]
    source = np.repeat(np.arange(len(taken)), taken)
    position = np.concatenate([np.arange(n) for n in taken])
    nats, n_bytes = np.zeros(len(taken)), np.zeros(len(taken))
    for first in range(0, source.size, scale.rows):
        rows = slice(first, first + scale.rows)
        inputs, targets = batches.fetch(data.probe, source[rows], position[rows], scale.context)
        with settings.machine.autocast():
            losses = state.model.nats(inputs.to(device), targets.to(device))
        nats += np.bincount(source[rows], _row_sums(losses), len(taken))
        n_bytes += np.bincount(source[rows], data.byte_lengths[targets.numpy()].sum(1), len(taken))
    return nats / (math.log(2) * np.where(n_bytes > 0, n_bytes, np.nan))


def _begin_phase(state: TrainState, regime: Regime, data: Data, settings: Settings) -> OpenPhase:
    scores = bandit.scores(state.curriculum.bandit, settings.bandit)
    phase, state.curriculum = curriculum.next_phase(
        state.curriculum,
        regime.region,
        state.step,
        regime.end_step,
        (settings.seed, regime.index),
        settings.curriculum,
        settings.bandit,
    )
    probe = state.probe
    if probe is None and settings.bandit.reward == "probe":
        probe = _optional(probe_bits(state, regime, data, settings))
    return OpenPhase(phase, _optional(scores), probe, (0,) * len(data.train))


def _end_phase(state: TrainState, regime: Regime, data: Data, settings: Settings) -> FinishedPhase:
    opened = state.open_phase
    assert opened is not None
    before = after = None
    if opened.probe is not None:
        before = np.array(opened.probe, dtype=np.float64)
        after = probe_bits(state, regime, data, settings)
    tokens = np.array(opened.sequences) * settings.scale.context
    earned, state.curriculum = curriculum.end_phase(
        state.curriculum, tokens, settings.bandit, before, after
    )
    state.open_phase = None
    state.probe = None if after is None or state.step == regime.end_step else _optional(after)
    noise = rewards.noise(state.curriculum.rewards)
    return FinishedPhase(
        opened.phase, opened.scores, tuple(earned.tolist()), _optional(noise), opened.sequences
    )


def _skip(state: TrainState, loss: float, norm: float) -> None:
    state.optimizer.zero_grad()
    state.skipped += 1
    state.skipped_in_a_row += 1
    if state.skipped_in_a_row > SKIPS_ALLOWED:
        raise UserError(
            f"step {state.step}: loss {loss} and gradient norm {norm} are not finite,"
            f" the third time in a row; lower scales.*.peak_rate or set optimizer.clip"
        )


def _row_sums(losses_BT: torch.Tensor) -> Vector:
    """Sums in float64, (B,), taken on the CPU: not every device has that type."""
    sums: Vector = losses_BT.cpu().double().sum(1).numpy()
    return sums


def _optional(values: Vector) -> tuple[float | None, ...]:
    return tuple(value if math.isfinite(value) else None for value in values.tolist())
