"""The walk over steps, in bins, so that a run of any length is drawn with the same ink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from andrea.geometry.walk.measure.phases import EDGE, Walk
from andrea.mixture.simplex import Vector

KINDS = ("random", "bandit", "fixed")


@dataclass(frozen=True, eq=False)
class Timeline:
    """The run over steps, in bins that no regime border cuts."""

    edges: NDArray[np.int64]  # steps, (b + 1,); bin i holds steps edges[i] to edges[i + 1] - 1
    borders: NDArray[np.int64]  # first step of each regime and first step after the last, (r + 1,)
    planned: Vector  # mean shares that were asked for, (b, k); rows sum to 1, to be stacked
    realised: Vector  # shares of the sequences trained, (b, k)
    kinds: Vector  # share of the steps in phases of each of `KINDS`, (b, 3)
    scores: Vector  # mean score, (b, k); NaN where the source had none
    rewards: Vector  # mean reward per sequence, (b, k); NaN where the source was not trained on


def timeline(walk: Walk, bins: int) -> Timeline:
    """The run over steps in about `bins` bins, or phase by phase where there are no more phases."""
    phases = walk.phases
    starts = np.append(phases.start_step, walk.end_step)
    firsts = np.flatnonzero(np.diff(walk.regime, prepend=-1))
    borders = np.append(phases.start_step[firsts], walk.end_step)
    edges = starts
    if phases.steps.size > bins:
        grid = np.round(np.linspace(starts[0], starts[-1], bins + 1)).astype(np.int64)
        edges = np.unique(np.concatenate([grid, borders]))
    scores, rewards = payoffs(walk)
    steps = phases.steps[:, None]
    kinds = (phases.kinds[:, None] == np.array(KINDS)).astype(np.float64)
    realised = _within(edges, starts, phases.sequences.astype(np.float64))
    return Timeline(
        edges,
        borders,
        _mean_within(edges, starts, phases.weights, steps),
        realised / realised.sum(axis=1, keepdims=True),
        _mean_within(edges, starts, kinds, steps),
        _mean_within(edges, starts, scores, steps),
        _mean_within(edges, starts, rewards, phases.sequences),
    )


class Payoffs(NamedTuple):
    """What the bandit knew and earned, by phase and source, (p, k) each."""

    # Upper confidence bound as the phase began; NaN where the source was owed an exploration, so
    # that it stood above all, or the region excludes it.
    scores: Vector
    rewards: Vector  # NaN where the source had no sequence in the phase


def payoffs(walk: Walk) -> Payoffs:
    """What the bandit knew and earned, phase by phase."""
    phases = walk.phases
    active = np.array([region.active for region in walk.regions])[walk.regime]
    return Payoffs(
        np.where(active, phases.scores, np.nan),
        np.where(phases.sequences > 0, phases.rewards, np.nan),
    )


def _within(edges: NDArray[np.int64], starts: NDArray[np.int64], amounts: Vector) -> Vector:
    """Amounts of phases (p, k), spread evenly over their steps, that fall into bins: (b, k)."""
    sums = np.vstack([np.zeros(amounts.shape[1]), amounts.cumsum(axis=0)])
    at_edges = np.array([np.interp(edges, starts, column) for column in sums.T])
    return np.asarray(np.diff(at_edges, axis=1).T)


def _mean_within(
    edges: NDArray[np.int64],
    starts: NDArray[np.int64],
    values: Vector,
    masses: NDArray[np.int64],
) -> Vector:
    """Mean of phases' values (p, k) in bins, by mass; NaN where no phase with a value falls."""
    known = ~np.isnan(values)
    weighed = _within(edges, starts, np.where(known, values * masses, 0.0))
    mass = _within(edges, starts, np.where(known, masses, 0).astype(np.float64))
    few = mass < EDGE
    return np.where(few, np.nan, weighed / np.where(few, 1.0, mass))
