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

from andrea.common.errors import UserError
from andrea.config.training import Bandit, Curriculum, Optimizer, Scale
from andrea.mixture import bandit, curriculum, rewards, sampler
from andrea.mixture.sampler import Plan
from andrea.mixture.simplex import Region, Vector, without
from andrea.training import batches, optimizer, probe, schedule
from andrea.training.batches import Stream
from andrea.training.machine import Machine
from andrea.training.records import FinishedPhase, StepStats
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


class DivergedError(UserError):
    """Three steps in a row had a loss or gradient that is not finite; `plan` is the last batch."""

    def __init__(self, message: str, plan: Plan) -> None:
        super().__init__(message)
        self.plan = plan


@dataclass(frozen=True)
class Regime:
    """A region of weights and the step before which it ends."""

    index: int
    region: Region
    end_step: int


def run_regime(
    state: TrainState, regime: Regime, data: Data, settings: Settings
) -> Iterator[StepStats]:
    """Train `state` in place up to the regime's last step; yield after every step.

    Between two yields `state` is whole: saved there and restored, the run goes on with the same
    bytes.

    A source that `state.excluded` names leaves the region with the next phase, unless nothing would
    be left of it.

    Raises:
        DivergedError: three steps in a row had a loss or gradient that is not finite.
    """
    scale = settings.scale
    sizes = np.array([batches.count(stream, scale.context) for stream in data.train])
    features = torch.compile(state.model.features) if settings.machine.compile else None
    if features is not None:
        state.model.features = features  # type: ignore[method-assign]
    while state.step < regime.end_step:
        if state.open_phase is None:
            state.open_phase = _begin_phase(state, regime, data, settings)
        opened = state.open_phase
        plan, state.sampler = sampler.plan(
            state.sampler, opened.phase.weights, scale.micro_batch * scale.grad_accumulation, sizes,
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


def train_step(state: TrainState, plan: Plan, data: Data, settings: Settings) -> StepStats:
    """One optimiser step on the planned rows; weights and moments change in place.

    A loss or gradient norm that is not finite leaves the weights as they are.

    Raises:
        DivergedError: that happened three times in a row.
    """
    scale, device = settings.scale, settings.machine.device
    k = len(data.train)
    nats, n_bytes = np.zeros(k), np.zeros(k)
    row_nats: list[Vector] = []
    total = 0.0
    for first in range(0, plan.source.size, scale.micro_batch):
        source = plan.source[first : first + scale.micro_batch]
        position = plan.position[first : first + scale.micro_batch]
        inputs, targets = batches.fetch(data.train, source, position, scale.context)
        with settings.machine.autocast():
            loss, losses = state.model.mean_nats(inputs.to(device), targets.to(device))
        (loss / scale.grad_accumulation).backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach()) / scale.grad_accumulation
        sums = probe.row_sums(losses)
        row_nats.append(sums / scale.context)
        nats += np.bincount(source, sums, k)
        n_bytes += np.bincount(source, data.byte_lengths[targets.numpy()].sum(1), k)
    norm = optimizer.clip(state.model, settings.optimizer.grad_clip)
    rate = schedule.rate(state.step, scale.steps, scale.lr, settings.optimizer)
    skipped = not (math.isfinite(total) and math.isfinite(norm))
    if skipped:
        _skip(state, plan, total, norm)
    else:
        optimizer.step(state.optimizer, rate)
        state.skipped_in_a_row = 0
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
        plan=plan,
        row_nats=np.concatenate(row_nats),
        loss=total,
        loss_by_source=nats / (seen * scale.context),
        sequences=sequences,
        weights=opened.phase.weights,
        kind=opened.phase.kind,
        rate=rate,
        gradient_norm=norm,
        skipped=skipped,
        finished=None,
    )


def _begin_phase(state: TrainState, regime: Regime, data: Data, settings: Settings) -> OpenPhase:
    region = present_region(state, regime)
    place = (regime.index, *state.excluded)
    if state.region != place:
        state.curriculum = curriculum.enter_regime(state.curriculum, region, settings.bandit)
        state.region = place
    scores = bandit.scores(state.curriculum.bandit, settings.bandit)
    phase, state.curriculum = curriculum.next_phase(
        state.curriculum,
        region,
        state.step,
        regime.end_step,
        (settings.seed, regime.index),
        settings.curriculum,
        settings.bandit,
    )
    before = state.probe
    if before is None and settings.bandit.reward == "probe":
        before = _optional(read_probe(state, regime, data, settings).bits)
    return OpenPhase(phase, _optional(scores), before, (0,) * len(data.train))


def _end_phase(state: TrainState, regime: Regime, data: Data, settings: Settings) -> FinishedPhase:
    opened = state.open_phase
    assert opened is not None
    before = after = None
    if opened.probe is not None:
        before = np.array(opened.probe, dtype=np.float64)
        after = read_probe(state, regime, data, settings).bits
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


def present_region(state: TrainState, regime: Regime) -> Region:
    """The regime's region without the sources that the run has excluded."""
    return without(regime.region, state.excluded)


def read_probe(state: TrainState, regime: Regime, data: Data, settings: Settings) -> probe.Reading:
    """Loss on the probe of every source that the run may draw now."""
    return probe.read(
        state.model,
        data.probe,
        present_region(state, regime).active,
        settings.bandit.probe_rows,
        settings.scale.micro_batch,
        data.byte_lengths,
        settings.machine,
    )


def _skip(state: TrainState, plan: Plan, loss: float, norm: float) -> None:
    state.optimizer.zero_grad()
    state.skipped += 1
    state.skipped_in_a_row += 1
    if state.skipped_in_a_row > SKIPS_ALLOWED:
        raise DivergedError(
            f"step {state.step}: loss {loss} and gradient norm {norm} are not finite,"
            f" the third time in a row; lower scales.*.lr or set optimizer.grad_clip",
            plan,
        )


def _optional(values: Vector) -> tuple[float | None, ...]:
    return tuple(value if math.isfinite(value) else None for value in values.tolist())
