"""The walk in numbers: regimes beside what chance would have done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.geometry.walk.measure.phases import Walk
from andrea.geometry.walk.measure.places import Places, places
from andrea.geometry.walk.measure.polygon import list_vertices
from andrea.mixture.simplex import Vector
from andrea.mixture.volume import log10_share

QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class RegimeSize:
    """A regime and its region."""

    name: str
    start_step: int  # its first step
    end_step: int  # first step after it
    phases: int  # how many
    random_share: float  # of its steps, in random phases
    log10_share: float  # size of the region as a share of its face of the simplex, log10; 0 is all
    dimension: int  # of the region
    vertices: int | None  # of the region; None where there are more than were listed


@dataclass(frozen=True)
class Where:
    """How near the corners a part of a regime stood: 5 %, 50 % and 95 % quantiles over its steps.

    Look for: `bandit` beside `chance`. Nearer to the corners than chance is what a bandit with a
    preference does; random phases must look like chance.
    """

    regime: str
    kind: str  # of the phases, or `chance` for uniform draws from the region
    steps: int  # of those phases; 0 for chance
    entropy: tuple[float, ...]  # nats
    corner_distance: tuple[float, ...]  # to the nearest corner of the simplex, Euclidean
    # To the nearest vertex of the region; None where they were not listed.
    vertex_distance: tuple[float, ...] | None


def sizes(walk: Walk, limit: int) -> tuple[RegimeSize, ...]:
    """Every regime with the size of its region.

    Args:
        limit: how many vertices of a region are counted at most.
    """
    found = []
    for index, (name, region) in enumerate(zip(walk.names, walk.regions, strict=True)):
        rows = np.flatnonzero(walk.regime == index)
        steps = walk.phases.steps[rows]
        share, dimension = log10_share(region)
        vertices = list_vertices(region, limit)
        random = steps[walk.phases.kinds[rows] == "random"].sum() / steps.sum()
        start = int(walk.phases.start_step[rows[0]])
        end, count = start + int(steps.sum()), None if vertices is None else len(vertices)
        found.append(
            RegimeSize(name, start, end, rows.size, float(random), share, dimension, count)
        )
    return tuple(found)


def where(walk: Walk, path: Places, drawn: Sequence[Vector], limit: int) -> tuple[Where, ...]:
    """How near the corners each regime stood, by kind of phase and beside chance.

    Args:
        drawn: uniform draws from each regime's region, (n, k) each, n at least 1.
    """
    rows = []
    for index, (name, region) in enumerate(zip(walk.names, walk.regions, strict=True)):
        for kind in dict.fromkeys(walk.phases.kinds.tolist()):
            some = (walk.regime == index) & (walk.phases.kinds == kind)
            if some.any():
                rows.append(_where(name, kind, path, np.where(some, walk.phases.steps, 0)))
        chance = places(drawn[index], region, limit)
        rows.append(_where(name, "chance", chance, np.ones(len(drawn[index]), dtype=np.int64)))
    return tuple(rows)


def _where(regime: str, kind: str, stood: Places, steps: NDArray[np.int64]) -> Where:
    chance = kind == "chance"
    known = not np.isnan(stood.vertex_distance[steps > 0]).any()
    return Where(
        regime,
        kind,
        0 if chance else int(steps.sum()),
        _quantiles(stood.entropy, steps),
        _quantiles(stood.corner_distance, steps),
        _quantiles(stood.vertex_distance, steps) if known else None,
    )


def _quantiles(values: Vector, steps: NDArray[np.int64]) -> tuple[float, ...]:
    """Quantiles of values (p,) that each last for some steps (p,)."""
    return tuple(np.quantile(np.repeat(values, steps), QUANTILES).tolist())
