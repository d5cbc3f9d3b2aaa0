"""How fast this machine trains the network: some steps of the real loop on random tokens."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from andrea.common.errors import UserError
from andrea.config.tree import Config
from andrea.mixture.simplex import Region
from andrea.training import machine, state
from andrea.training.loop import run_regime
from andrea.training.records import StepStats
from andrea.training.run import Run
from andrea.training.state import TrainState

TRIAL_SECONDS = 0.5
MEASURE_SECONDS = 4.0
LEAST_STEPS = 3


@dataclass(frozen=True)
class Speed:
    """Measured time of a step, probes apart, and on what; `rows` were measured at a time."""

    step_seconds: float
    rows: int
    machine: Mapping[str, str | int | bool]


def measure(config: Config) -> Speed:
    """Train for some seconds and time it.

    One micro-batch is timed, with fewer rows where a whole one would take too long, and scaled up
    to the step. The state that was trained is thrown away.

    Raises:
        UserError: the machine lacks what `compute` asks for, or the memory for a micro-batch.
    """
    scale, k = config.scale, len(config.sources)
    run = Run(
        seed=config.seed,
        scale=scale,
        optimizer=config.optimizer,
        bandit=replace(config.bandit, reward="slope"),
        curriculum=config.curriculum,
        machine=machine.prepare(config.compute),
        sources=list(config.sources),
        train=(),
        probe=(),
        byte_lengths=np.ones(scale.vocabulary, dtype=np.int64),
        index=0,
        region=Region(np.zeros(k), np.ones(k)),
        end_step=10**9,
    )
    device = run.machine.device
    try:
        training = state.new(scale, run.optimizer, k, run.seed, device)
        rows, seconds = 1, _seconds(training, run, 1, 1, TRIAL_SECONDS)
        affordable = int(2 * MEASURE_SECONDS / ((LEAST_STEPS + 1) * seconds))
        if affordable > 1:
            rows = min(scale.micro_batch, affordable)
            seconds = _seconds(training, run, rows, LEAST_STEPS, MEASURE_SECONDS)
    except torch.OutOfMemoryError as error:
        raise UserError(
            f"scales.{config.scale_name}.micro_batch: {scale.micro_batch} rows do not fit into the"
            f" memory of this {device}; halve them and double grad_accumulation"
        ) from error
    step_seconds = seconds * scale.micro_batch / rows * scale.grad_accumulation
    return Speed(step_seconds, rows, run.machine.record())


def _seconds(training: TrainState, run: Run, rows: int, least: int, budget: float) -> float:
    """Median seconds of a step of `rows` rows: of `least` or more, for `budget` or more seconds."""
    scale = replace(run.scale, micro_batch=rows, grad_accumulation=1, steps=run.end_step)
    tokens = np.random.default_rng(0).integers(0, scale.vocabulary, 4 * scale.step_tokens + 1)
    streams = [tokens.astype(np.uint16)] * len(run.sources)
    steps = run_regime(training, replace(run, scale=scale, train=streams, probe=streams))
    first = _timed(steps)  # also makes buffers and compiles
    if first > MEASURE_SECONDS and not run.machine.compile:
        return first
    seconds: list[float] = []
    while len(seconds) < least or sum(seconds) < budget:
        seconds.append(_timed(steps))
    return statistics.median(seconds)


def _timed(steps: Iterator[StepStats]) -> float:
    since = time.perf_counter()
    next(steps)
    return time.perf_counter() - since
