"""A loss that falls for the wrong reason: sequences known by heart, and a gap that grows.

A cliff is a sequence that costs less than a share of its source's median, whose text stands in
several documents of the source, and whose drop the source's held-out probe does not share. Each
condition alone fails: some sources hold two kinds of text, the rarer of them eight deviations below
the median for good; drawn tables cost next to nothing without being known by heart; and text that
recurs is only a ravine once it is learnt. Losses are in nats per token.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from andrea.watching import robust
from andrea.watching.repeats import Repeats
from andrea.watching.robust import ENOUGH, History

COPIES = 8  # documents that a quarter of a cliff's text must stand in: text as it comes has fewer
SMOOTHING = 64  # rows of a source that its smoothed loss reaches back over
NORM_Z = 6.0  # robust deviations above its median at which a gradient norm is an outlier
PATIENCE = 16  # such norms in a row, after which they are taken for a new level
ALLOWED_RISE = 0.25  # nats that the gap may lie above its mean
ALARM = 1.0  # nats beyond that, summed over readings


class PageHinkley(NamedTuple):
    """Whether a series has risen above its own mean (Page 1954; Hinkley 1971)."""

    values: int = 0  # how many there were
    mean: float = 0.0  # of them
    total: float = 0.0  # sum of what each was above the mean of its time and `ALLOWED_RISE`
    least: float = 0.0  # smallest total so far

    def observe(self, value: float) -> PageHinkley:
        """After one more value."""
        values = self.values + 1
        mean = self.mean + (value - self.mean) / values
        total = self.total + value - mean - ALLOWED_RISE
        return PageHinkley(values, mean, total, min(self.least, total))

    @property
    def risen(self) -> bool:
        """Whether the total stands `ALARM` above its least."""
        return self.total - self.least > ALARM


@dataclass(frozen=True)
class CliffState:
    """What the watch over the losses remembers."""

    losses: tuple[History, ...]  # accepted losses of the last sequences, by source, (k,)
    norms: History
    refused: int  # gradient norms refused in a row, up to now
    # Training loss by source, (k,); None before the first sequence.
    smoothed: tuple[float | None, ...]
    # Course of the held-out probe's loss less the smoothed one, by source, (k,).
    gaps: tuple[PageHinkley, ...]


@dataclass(frozen=True)
class Drop:
    """A sequence whose loss lies far below its source's others."""

    row: int  # of the batch
    source: int
    nats: float  # its loss per token
    median: float  # of the source's accepted losses
    z: float  # robust deviations between the two, negative

    @property
    def drop(self) -> float:
        """Nats per token below the median."""
        return self.median - self.nats


def init(k: int) -> CliffState:
    """The state of k sources of which nothing is known."""
    return CliffState(((),) * k, (), 0, (None,) * k, (PageHinkley(),) * k)


def observe(
    state: CliffState, source: ArrayLike, nats: ArrayLike, grad_norm: float, cliff_ratio: float
) -> tuple[CliffState, list[Drop], float | None]:
    """Look at the sequences of one step.

    Drops stay out of the history of their source until `accept`; losses that are not finite, for
    good. A gradient norm `NORM_Z` robust deviations above its median stays out too, but `PATIENCE`
    of them in a row begin a new history. Smoothed losses (Wilder 1978) take in every finite loss.

    Args:
        source: index of each row's source, (rows,).
        nats: mean loss per token of each row, (rows,).
        grad_norm: of the step, before clipping.
        cliff_ratio: share of its source's median below which a loss is a drop.

    Returns:
        The state after, the drops in the order of their rows, and the robust z of the gradient
        norm; None where it is not finite or its history too short.
    """
    losses, smoothed = list(state.losses), list(state.smoothed)
    drops = []
    rows = zip(np.asarray(source).tolist(), np.asarray(nats).tolist(), strict=True)
    for row, (which, loss) in enumerate(rows):
        if not math.isfinite(loss):
            continue
        history = losses[which]
        before = smoothed[which]
        # Of a short history the plain mean: at a 64th a row the first losses, which are those of a
        # network that knows nothing, would stay in it for long.
        reach = min(SMOOTHING, len(history) + 1)
        smoothed[which] = loss if before is None else before + (loss - before) / reach
        median, z = robust.median(history), None
        if median is not None and loss < cliff_ratio * median:
            z = robust.z(history, loss)
        if median is None or z is None:
            losses[which] = robust.accept(history, loss)
        else:
            drops.append(Drop(row, which, loss, median, z))
    norms, refused, norm_z = _norm(state, grad_norm)
    after = CliffState(tuple(losses), norms, refused, tuple(smoothed), state.gaps)
    return after, drops, norm_z


def confirmed(drop: Drop, repeats: Repeats, probe: Callable[[], float | None]) -> bool:
    """Whether a drop is a cliff: its text recurs, and the probe does not share it.

    A source's level may really fall; then its probe, read now, lies nearer to the new loss than to
    the old median.

    Args:
        repeats: of the sequence's text in the source's training data.
        probe: reads the loss per token on the source's held-out probe with the network as it is,
            None where there is no probe; called only if the text recurs.
    """
    if repeats.quarter < COPIES:
        return False
    nats = probe()
    return nats is None or nats >= 0.5 * (drop.median + drop.nats)


def accept(state: CliffState, drop: Drop) -> CliffState:
    """The state in which a drop that is no cliff has joined its source's history."""
    losses = list(state.losses)
    losses[drop.source] = robust.accept(losses[drop.source], drop.nats)
    return replace(state, losses=tuple(losses))


def observe_probe(state: CliffState, probe_nats: ArrayLike) -> tuple[CliffState, list[int]]:
    """Look at a reading of every source's held-out probe.

    Args:
        probe_nats: loss per token on each probe, (k,); NaN where it was not read.

    Returns:
        The state after, and the sources whose gap to the training loss has grown. These begin anew,
        so that one growth raises one alarm.
    """
    gaps, grown = list(state.gaps), []
    for source, probe in enumerate(np.asarray(probe_nats, dtype=np.float64).tolist()):
        trained = state.smoothed[source]
        settled = len(state.losses[source]) >= ENOUGH
        if trained is None or not settled or not math.isfinite(probe):
            continue
        gaps[source] = gaps[source].observe(probe - trained)
        if gaps[source].risen:
            grown.append(source)
            gaps[source] = PageHinkley()
    return replace(state, gaps=tuple(gaps)), grown


def _norm(state: CliffState, norm: float) -> tuple[History, int, float | None]:
    if not math.isfinite(norm):
        return state.norms, state.refused, None
    z = robust.z(state.norms, norm)
    if z is None or z <= NORM_Z:
        return robust.accept(state.norms, norm), 0, z
    if state.refused + 1 < PATIENCE:
        return state.norms, state.refused + 1, z
    return (norm,), 0, z
