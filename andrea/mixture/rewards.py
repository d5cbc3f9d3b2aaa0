"""What a phase taught, per source: learning progress, never the level of the loss.

Losses are in bits per byte, so that sources compare. Three rewards:

- `ema`: fall of the loss below its own moving average, times 1000; it also pays for noise, about
  400 where the loss merely jumps with a deviation of 1, and is kept as the baseline.
- `slope`: fall of the source's own training loss over the phase, by the Theil-Sen slope, on
  sequences of its first epoch.
- `probe`: fall of the loss on the source's held-out probe over the phase.

The last two are per token trained on the source, and are scaled by their running quantiles. A loss
without a trend earns nothing on average under both: its rewards are symmetric about 0, and the
scale keeps 0 where it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from andrea.config.training import Bandit
from andrea.mixture.simplex import Vector

MEMORY = 0.9  # of the moving average
GAIN = 1000.0  # of the `ema` reward
WINDOW = 20  # phases whose rewards set the scale
GAUSSIAN = 1.4826  # deviation over median absolute deviation of a normal law

BySource = tuple[float | None, ...]  # (k,)


@dataclass(frozen=True)
class RewardState:
    """What the rewards remember."""

    # Moving average of each source's loss, (k,), kept under `ema` only; None before the first loss.
    averages: BySource
    # Of this phase, one row (k,) a step; None where the source had no sequence.
    losses: tuple[BySource, ...]
    fresh: tuple[BySource, ...]  # the rows of `losses` with what comes from a first epoch only
    # Rewards (k,) of the last phases before scaling; None where not measured.
    history: tuple[BySource, ...]


def init(k: int) -> RewardState:
    """The state of k sources of which nothing is known."""
    return RewardState((None,) * k, (), (), ())


def observe_step(state: RewardState, losses: ArrayLike, fresh: ArrayLike) -> RewardState:
    """Remember one training step.

    Args:
        losses: mean loss of each source's sequences in bits per byte, (k,); NaN where it had none.
            One that is not finite counts as none.
        fresh: sources all of whose sequences came from their first epoch, (k,).
    """
    row = _row(np.asarray(losses, dtype=np.float64))
    marks = np.asarray(fresh, dtype=bool).tolist()
    first = tuple(loss if mark else None for loss, mark in zip(row, marks, strict=True))
    return replace(state, losses=(*state.losses, row), fresh=(*state.fresh, first))


def ema_step(average: Vector, losses: Vector) -> tuple[Vector, Vector]:
    """One step of ANDREA's published reward, elementwise.

    Args:
        average: moving averages before; NaN before a source's first loss.
        losses: NaN for a source without a loss.

    Returns:
        Averages after, and max(0, average before - loss) * 1000: 0 without a loss or an average.
    """
    started = np.where(np.isnan(average), losses, average)
    reward = np.nan_to_num(np.maximum(0.0, started - losses) * GAIN, nan=0.0)
    moved = MEMORY * started + (1 - MEMORY) * losses
    return np.where(np.isnan(losses), average, moved), reward


def theil_sen(losses: Vector) -> Vector:
    """Median slope over all pairs of steps (Theil 1950; Sen 1968).

    Args:
        losses: (steps, k), NaN where missing.

    Returns:
        Slopes per step, (k,); NaN for a source with fewer than two losses.
    """
    steps, k = losses.shape
    if steps < 2:
        return np.full(k, np.nan)
    first, second = np.triu_indices(steps, 1)
    rises = losses[second] - losses[first]
    slopes = np.sort(rises / (second - first)[:, None], axis=0)  # NaN last
    count, columns = np.count_nonzero(~np.isnan(slopes), axis=0), np.arange(k)
    low, high = slopes[np.maximum(count - 1, 0) // 2, columns], slopes[count // 2, columns]
    return np.asarray(0.5 * (low + high))


def phase_rewards(
    state: RewardState,
    probe_before: ArrayLike | None,
    probe_after: ArrayLike | None,
    tokens: ArrayLike,
    cfg: Bandit,
) -> tuple[Vector, RewardState]:
    """What the phase that ends now paid.

    `slope` and `probe` are divided by the larger of the running 20 % and 80 % quantiles' distances
    from 0 and clipped to [-1, 1]. Graves et al. 2017 map the two quantiles onto -1 and 1; that
    moves 0, and then clipping pays a noisy source for its noise.

    Args:
        state: with every step of the phase observed.
        probe_before: loss on each probe in bits per byte when the phase began, (k,); only `probe`.
        probe_after: the same now, (k,).
        tokens: trained in the phase, (k,).

    Returns:
        Rewards (k,): 0 for what could not be measured, so that it counts as pulled and not as new;
        and the state, ready for the next phase.

    Raises:
        ValueError: reward `probe` without probe losses.
    """
    trained = np.asarray(tokens, dtype=np.float64)
    if cfg.reward == "ema":
        averages, paid = _ema(state)
        return paid, replace(state, averages=averages, losses=(), fresh=())
    if cfg.reward == "slope":
        fresh = _array(state.fresh).reshape(-1, trained.size)
        fall = -len(fresh) * theil_sen(fresh)
    elif probe_before is None or probe_after is None:
        raise ValueError("reward probe needs the probe losses before and after the phase")
    else:
        fall = np.asarray(probe_before, dtype=np.float64) - np.asarray(probe_after)
    raw = np.full(trained.size, np.nan)
    np.divide(fall, trained, out=raw, where=trained > 0)
    history = (*state.history, _row(raw))[-WINDOW:]
    scale = _scale(history)
    measured = np.where(np.isfinite(raw), raw, 0.0)
    paid = np.clip(measured / (scale or np.inf), -1, 1)
    return paid, RewardState(state.averages, (), (), history)


def noise(state: RewardState) -> Vector:
    """Deviation of the estimate of each source's reward, in scaled units, (k,).

    From the differences of successive phases, which hold twice the variance of one estimate and
    next to nothing of its slow drift; by their median, so that a jump does not count. NaN with
    fewer than two measured phases; NaN everywhere under `ema`, which measures nothing to scale.
    """
    result = np.full(len(state.averages), np.nan)
    scale = _scale(state.history)
    if scale > 0:
        for source, column in enumerate(_array(state.history).T):
            measured = column[~np.isnan(column)]
            if measured.size > 1:
                spread = np.median(np.abs(np.diff(measured)))
                result[source] = GAUSSIAN * spread / np.sqrt(2) / scale
    return result


def _ema(state: RewardState) -> tuple[BySource, Vector]:
    """Averages after the phase, and the mean reward of the steps on which a source was seen."""
    average = _array((state.averages,))[0]
    total = np.zeros(average.size)
    seen = np.zeros(average.size)
    for row in state.losses:
        losses = _array((row,))[0]
        average, reward = ema_step(average, losses)
        total += reward
        seen += ~np.isnan(losses)
    return _row(average), total / np.maximum(seen, 1)


def _scale(history: tuple[BySource, ...]) -> float:
    values = _array(history)
    values = values[~np.isnan(values)]
    return float(np.abs(np.quantile(values, [0.2, 0.8])).max()) if values.size else 0.0


def _row(values: Vector) -> BySource:
    return tuple(value if math.isfinite(value) else None for value in values.tolist())


def _array(rows: tuple[BySource, ...]) -> Vector:
    return np.array(rows, dtype=np.float64)
