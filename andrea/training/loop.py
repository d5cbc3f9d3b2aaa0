"""The only loop: one regime's steps, from state to state.

Loss is the mean over all targets of a batch in nats; rewards see bits per byte.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

from andrea.common.errors import UserError
from andrea.mixture import bandit, curriculum, rewards, sampler
from andrea.mixture.sampler import Plan
from andrea.mixture.simplex import Region, Vector, without
from andrea.training import batches, optimizer, probe
from andrea.training.records import FinishedPhase, StepStats
from andrea.training.run import Run
from andrea.training.state import OpenPhase, TrainState

SKIPS_ALLOWED = 2  # in a row; the next one stops the run


class DivergedError(UserError):
    """Three steps in a row had a loss or gradient that is not finite; `plan` is the last batch."""

    def __init__(self, message: str, plan: Plan) -> None:
        super().__init__(message)
        self.plan = plan


def run_regime(state: TrainState, run: Run) -> Iterator[StepStats]:
    """Train `state` in place up to the regime's last step; yield after every step.

    Between two yields `state` is whole: saved there and restored, the run goes on with the same
    bytes.

    A source that `state.excluded` names leaves the region with the next phase, unless nothing would
    be left of it.

    Raises:
        DivergedError: three steps in a row had a loss or gradient that is not finite.
    """
    scale = run.scale
    sizes = np.array([batches.count(stream, scale.context) for stream in run.train])
    features = torch.compile(state.model.features) if run.machine.compile else None
    if features is not None:
        state.model.features = features  # type: ignore[method-assign]
    while state.step < run.end_step:
        if state.open_phase is None:
            state.open_phase = _begin_phase(state, run)
        opened = state.open_phase
        plan, state.sampler = sampler.plan(
            state.sampler, opened.phase.weights, scale.micro_batch * scale.grad_accumulation, sizes,
            run.seed,
        )  # fmt: skip
        stats = train_step(state, plan, run)
        state.step += 1
        state.tokens = stats.tokens
        sequences = tuple((np.array(opened.sequences) + stats.sequences).tolist())
        state.open_phase = replace(opened, sequences=sequences)
        # The phase ends before the yield, not when the next one begins: its reward belongs to the
        # step that earned it, also where the run is stopped and taken up again between the two.
        if state.step == opened.phase.end_step:
            stats = replace(stats, finished=_end_phase(state, run))
        yield stats


def train_step(state: TrainState, plan: Plan, run: Run) -> StepStats:
    """One optimiser step on the planned rows; weights and moments change in place.

    A loss or gradient norm that is not finite leaves the weights as they are.

    Raises:
        DivergedError: that happened three times in a row.
    """
    scale, device, k = run.scale, run.machine.device, len(run.train)
    nats, n_bytes = np.zeros(k), np.zeros(k)
    row_nats: list[Vector] = []
    total = 0.0
    for first in range(0, plan.source.size, scale.micro_batch):
        source = plan.source[first : first + scale.micro_batch]
        position = plan.position[first : first + scale.micro_batch]
        inputs, targets = batches.fetch(run.train, source, position, scale.context)
        with run.machine.autocast():
            loss, losses = state.model.mean_nats(inputs.to(device), targets.to(device))
        # Gradients of micro-batches add up. They are equally large, so that the mean of their means
        # is the mean over the batch: its gradient is the one that a single large batch would have.
        (loss / scale.grad_accumulation).backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach()) / scale.grad_accumulation
        sums = probe.row_sums(losses)
        row_nats.append(sums / scale.context)
        nats += np.bincount(source, sums, k)
        n_bytes += np.bincount(source, run.byte_lengths[targets.numpy()].sum(1), k)
    # Only now, on the sum: clipping each micro-batch would bound other norms and turn the sum.
    grad_norm = optimizer.clip(state.model, run.optimizer.grad_clip)
    lr = optimizer.lr(state.step, scale.steps, scale.lr, run.optimizer)
    # One number that is not finite would spread to every weight, and by the moments to all later
    # steps. The step still counts, so that the schedule and the phases go on as planned.
    skipped = not (math.isfinite(total) and math.isfinite(grad_norm))
    if skipped:
        _skip(state, plan, total, grad_norm)
    else:
        optimizer.step(state.optimizer, lr)
        state.skipped_in_a_row = 0
    sequences = np.bincount(plan.source, minlength=k)
    # A source without a row has no loss, which is NaN and not 0; one whose rows hold BOS alone has
    # no bytes, and must not divide by 0.
    rows = np.where(sequences > 0, sequences, np.nan)
    bits = nats / (math.log(2) * np.where(sequences > 0, np.maximum(n_bytes, 1), np.nan))
    # What has been read before is known by heart in part: progress on it is not what a source is
    # paid for, so that rewards may leave it out.
    fresh = np.bincount(plan.source, plan.epoch > 0, k) == 0
    state.curriculum = curriculum.observe_step(state.curriculum, bits, fresh)
    opened = state.open_phase
    assert opened is not None
    return StepStats(
        step=state.step,
        tokens=state.tokens + scale.step_tokens,
        plan=plan,
        row_nats=np.concatenate(row_nats),
        loss=total,
        loss_by_source=nats / (rows * scale.context),
        sequences=sequences,
        weights=opened.phase.weights,
        kind=opened.phase.kind,
        lr=lr,
        grad_norm=grad_norm,
        skipped=skipped,
        finished=None,
    )


def _begin_phase(state: TrainState, run: Run) -> OpenPhase:
    region = present_region(state, run)
    place = (run.index, *state.excluded)
    # The walk enters a region once: with the first phase of a regime, and with the first one after
    # the watch has taken a source out. Entering twice would discount the bandit twice.
    if state.region != place:
        state.curriculum = curriculum.enter_regime(state.curriculum, region, run.bandit)
        state.region = place
    scores = bandit.scores(state.curriculum.bandit, run.bandit)
    phase, state.curriculum = curriculum.next_phase(
        state.curriculum, region, state.step, run.end_step, (run.seed, run.index), run.curriculum,
        run.bandit,
    )  # fmt: skip
    # Before this phase is after the last one: no weight has changed between the two, so the probe
    # is read once a phase. Only a regime's first phase reads it anew, for its sources are others.
    before = state.probe
    if before is None and run.bandit.reward == "probe":
        before = _optional(read_probe(state, run).bits)
    return OpenPhase(phase, _optional(scores), before, (0,) * len(run.train))


def _end_phase(state: TrainState, run: Run) -> FinishedPhase:
    opened = state.open_phase
    assert opened is not None
    before = after = None
    if opened.probe is not None:
        before = np.array(opened.probe, dtype=np.float64)
        after = read_probe(state, run).bits
    tokens = np.array(opened.sequences) * run.scale.context
    earned, state.curriculum = curriculum.end_phase(
        state.curriculum, tokens, run.bandit, before, after
    )
    state.open_phase = None
    state.probe = None if after is None or state.step == run.end_step else _optional(after)
    noise = rewards.noise(state.curriculum.rewards)
    return FinishedPhase(
        opened.phase, opened.scores, tuple(earned.tolist()), _optional(noise), opened.sequences
    )


def present_region(state: TrainState, run: Run) -> Region:
    """The regime's region without the sources that the run has excluded."""
    return without(run.region, state.excluded)


def read_probe(state: TrainState, run: Run) -> probe.Reading:
    """Loss on the probe of every source that the run may draw now."""
    return probe.read(state.model, run, present_region(state, run).active)


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
