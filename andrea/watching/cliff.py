"""A loss that falls for the wrong reason: sequences known by heart, and a gap that grows.

A cliff is a sequence far cheaper than its source's others which the source's held-out probe does
not share and whose text recurs in training data. Losses are in nats per token.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from andrea.config.watch import Watch
from andrea.watching.repeats import Repeats
from andrea.watching.robust import Window

RATIO = 0.5  # of its source's median, below which a loss is looked at, however wide the source
SMOOTHING = 64  # rows of a source that its smoothed loss reaches back over
PATIENCE = 16  # gradient norms in a row that are refused before they are taken for a new level
ALLOWED_RISE = 0.02  # nats by which the gap may lie above its mean at every reading
ALARM = 0.5  # nats, summed over readings, by which it may rise beyond that


@dataclass(frozen=True)
class PageHinkley:
    """Whether a series has risen above its own mean (Page 1954; Hinkley 1971).

    Attributes:
        count: values seen.
        mean: of them.
        total: sum of what each was above the mean of its time and `ALLOWED_RISE`.
        least: smallest total so far.
    """

    count: int = 0
    mean: float = 0.0
    total: float = 0.0
    least: float = 0.0

    def observe(self, value: float) -> PageHinkley:
        """After one more value."""
        count = self.count + 1
        mean = self.mean + (value - self.mean) / count
        total = self.total + value - mean - ALLOWED_RISE
        return PageHinkley(count, mean, total, min(self.least, total))

    @property
    def risen(self) -> bool:
        """Whether the total stands `ALARM` above its least."""
        return self.total - self.least > ALARM

    def to_json(self) -> list[float]:
        """Plain JSON, exact."""
        return [self.count, self.mean, self.total, self.least]

    @classmethod
    def from_json(cls, value: Any) -> PageHinkley:
        """What `to_json` wrote."""
        return cls(*value)


@dataclass(frozen=True)
class CliffState:
    """What the watch over the losses remembers.

    Attributes:
        losses: accepted losses of the last sequences, by source, (k,).
        norms: accepted gradient norms.
        refused: gradient norms refused in a row, up to now.
        smoothed: training loss by source, (k,); None before the first sequence.
        gaps: course of the held-out probe's loss less the smoothed one, by source, (k,).
    """

    losses: tuple[Window, ...]
    norms: Window
    refused: int
    smoothed: tuple[float | None, ...]
    gaps: tuple[PageHinkley, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, exact."""
        return {
            "losses": [window.to_json() for window in self.losses],
            "norms": self.norms.to_json(),
            "refused": self.refused,
            "smoothed": list(self.smoothed),
            "gaps": [gap.to_json() for gap in self.gaps],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CliffState:
        """The state that `to_json` wrote."""
        return cls(
            tuple(Window.from_json(window) for window in value["losses"]),
            Window.from_json(value["norms"]),
            value["refused"],
            tuple(value["smoothed"]),
            tuple(PageHinkley.from_json(gap) for gap in value["gaps"]),
        )


@dataclass(frozen=True)
class Drop:
    """A sequence whose loss lies far below its source's others.

    Attributes:
        row: of the batch.
        source: index of its source.
        nats: its loss per token.
        median: of the source's accepted losses.
        z: robust deviations between the two, negative.
    """

    row: int
    source: int
    nats: float
    median: float
    z: float

    @property
    def drop(self) -> float:
        """Nats per token below the median."""
        return self.median - self.nats


@dataclass(frozen=True)
class Cliff:
    """A confirmed drop, as reports show it.

    Attributes:
        step: from 0, over all regimes.
        source: its name.
        shard: file of its tokens.
        positions: of the batch's sequences of this source in the shard, the cliff's first.
        z: robust deviations above the median, negative.
        drop: nats per token below the median.
        nats: loss per token.
        median: of the source's accepted losses.
        probe_nats: loss per token on the source's held-out probe at this step; None without one.
        repeats: of the text in the source's training data.
        text: of the sequence.
    """

    step: int
    source: str
    shard: str
    positions: tuple[int, ...]
    z: float
    drop: float
    nats: float
    median: float
    probe_nats: float | None
    repeats: Repeats
    text: str

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        own = {"positions": list(self.positions), "repeats": self.repeats.to_json()}
        return vars(self) | own


def init(k: int) -> CliffState:
    """The state of k sources of which nothing is known."""
    return CliffState((Window(),) * k, Window(), 0, (None,) * k, (PageHinkley(),) * k)


def observe(
    state: CliffState, source: ArrayLike, nats: ArrayLike, gradient_norm: float, cfg: Watch
) -> tuple[CliffState, list[Drop], float | None]:
    """Look at the sequences of one step.

    A loss is a drop where it is `cfg.cliff_z` robust deviations below its source's median, or below
    half of it, which in a source of very different texts is the nearer of the two. Drops stay out
    of the history until `accept`; losses that are not finite for good. A gradient norm as far above
    its median stays out too, but `PATIENCE` of them in a row begin a new history.

    Args:
        state: before.
        source: index of each row's source, (rows,).
        nats: mean loss per token of each row, (rows,).
        gradient_norm: of the step, before clipping.
        cfg: the threshold.

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
        before = smoothed[which]
        smoothed[which] = loss if before is None else before + (loss - before) / SMOOTHING
        drop = _drop(losses[which], row, which, loss, cfg.cliff_z)
        if drop is None:
            losses[which] = losses[which].accept(loss)
        else:
            drops.append(drop)
    norms, refused, z = _norm(state, gradient_norm, cfg.cliff_z)
    after = CliffState(tuple(losses), norms, refused, tuple(smoothed), state.gaps)
    return after, drops, z


def confirmed(drop: Drop, probe_nats: float | None, repeats: Repeats) -> bool:
    """Whether a drop is a cliff: the probe does not share it, and its text recurs.

    A source's level may really fall, as when a rate does; then its probe, read now, lies nearer to
    the new loss than to the old median. And a single text may be easy; then it does not recur.

    Args:
        drop: of `observe`.
        probe_nats: loss per token on the source's held-out probe at this step; None without one,
            which then shares nothing.
        repeats: of the sequence's text in the source's training data.
    """
    shared = probe_nats is not None and probe_nats < 0.5 * (drop.median + drop.nats)
    return not shared and repeats.share >= 0.5


def accept(state: CliffState, drop: Drop) -> CliffState:
    """The state in which a drop that is no cliff has joined its source's history."""
    losses = list(state.losses)
    losses[drop.source] = losses[drop.source].accept(drop.nats)
    return replace(state, losses=tuple(losses))


def observe_probe(state: CliffState, probe_nats: ArrayLike) -> tuple[CliffState, list[int]]:
    """Look at a reading of every source's held-out probe.

    Args:
        state: before.
        probe_nats: loss per token on each probe, (k,); NaN where it was not read.

    Returns:
        The state after, and the sources whose gap to the training loss has grown. These begin anew,
        so that one growth is told once.
    """
    gaps, grown = list(state.gaps), []
    for source, probe in enumerate(np.asarray(probe_nats, dtype=np.float64).tolist()):
        trained = state.smoothed[source]
        if trained is None or not math.isfinite(probe):
            continue
        gaps[source] = gaps[source].observe(probe - trained)
        if gaps[source].risen:
            grown.append(source)
            gaps[source] = PageHinkley()
    return replace(state, gaps=tuple(gaps)), grown


def _drop(window: Window, row: int, source: int, loss: float, limit: float) -> Drop | None:
    median = window.median()
    if median is None or loss >= median:
        return None
    z = window.z(loss)
    assert z is not None
    return Drop(row, source, loss, median, z) if z < -limit or loss < RATIO * median else None


def _norm(state: CliffState, norm: float, limit: float) -> tuple[Window, int, float | None]:
    if not math.isfinite(norm):
        return state.norms, state.refused, None
    z = state.norms.z(norm)
    if z is None or z <= limit:
        return state.norms.accept(norm), 0, z
    if state.refused + 1 < PATIENCE:
        return state.norms, state.refused + 1, z
    return Window().accept(norm), 0, z
