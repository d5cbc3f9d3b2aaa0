"""How fast this machine trains the network: some steps of the real loop on random tokens."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from andrea.common.errors import UserError
from andrea.config import scale as scales
from andrea.config import sources as source_config
from andrea.config.bandit import Bandit
from andrea.config.compute import Compute
from andrea.config.curriculum import Curriculum
from andrea.config.optimizer import Optimizer
from andrea.config.reading import section
from andrea.mixture.simplex import Region
from andrea.training import machine, state
from andrea.training.loop import Data, Regime, Settings, run_regime
from andrea.training.records import StepStats
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


def measure(params: Mapping[str, Any]) -> Speed:
    """Train for some seconds and time it.

    One micro-batch is timed, with fewer rows where a whole one would take too long, and scaled up
    to the step. The state that was trained is thrown away.

    Raises:
        UserError: the machine lacks what `compute` asks for, or the memory for a micro-batch.
    """
    scale = scales.active(params)
    settings = Settings(
        params["seed"],
        scale,
        section(params, "optimizer", Optimizer),
        replace(section(params, "bandit", Bandit), reward="slope"),
        section(params, "curriculum", Curriculum),
        machine.prepare(section(params, "compute", Compute)),
    )
    k = len(source_config.read(params))
    device = settings.machine.device
    try:
        training = state.new(scale, settings.optimizer, k, settings.seed, device)
        rows, seconds = 1, _seconds(training, settings, k, 1, 1, TRIAL_SECONDS)
        affordable = int(2 * MEASURE_SECONDS / ((LEAST_STEPS + 1) * seconds))
        if affordable > 1:
            rows = min(scale.rows, affordable)
            seconds = _seconds(training, settings, k, rows, LEAST_STEPS, MEASURE_SECONDS)
    except torch.OutOfMemoryError as error:
        raise UserError(
            f"scales.{scales.active_name(params)}.rows: {scale.rows} rows do not fit into the"
            f" memory of this {device}; halve them and double accumulation"
        ) from error
    step_seconds = seconds * scale.rows / rows * scale.accumulation
    return Speed(step_seconds, rows, settings.machine.record())


def _seconds(
    training: TrainState, settings: Settings, k: int, rows: int, least: int, budget: float
) -> float:
    """Median seconds of a step of `rows` rows: of `least` or more, for `budget` or more seconds."""
    scale = replace(settings.scale, rows=rows, accumulation=1, steps=10**9)
    tokens = np.random.default_rng(0).integers(0, scale.vocabulary, 4 * scale.step_tokens + 1)
    streams = [tokens.astype(np.uint16)] * k
    data = Data(streams, streams, np.ones(scale.vocabulary, dtype=np.int64))
    regime = Regime(0, Region(np.zeros(k), np.ones(k)), scale.steps)
    steps = run_regime(training, regime, data, replace(settings, scale=scale))
    first = _timed(steps)  # also makes buffers and compiles
    if first > MEASURE_SECONDS and not settings.machine.compile:
        return first
    seconds: list[float] = []
    while len(seconds) < least or sum(seconds) < budget:
        seconds.append(_timed(steps))
    return statistics.median(seconds)


def _timed(steps: Iterator[StepStats]) -> float:
    since = time.perf_counter()
    next(steps)
    return time.perf_counter() - since
