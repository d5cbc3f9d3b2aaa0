"""The curriculum as a walk: where the mixture of sources went, how long it stayed, what it paid.

Everything is per phase (p), per regime (r) and per source (k), ready to draw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.common.seeds import Purpose
from andrea.geometry.walk.measure.phases import EDGE, Walk
from andrea.geometry.walk.measure.polygon import list_vertices
from andrea.mixture.simplex import Region, Vector, draw, entropy, face
from andrea.mixture.volume import centre

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Places:
    """Where points of a region stand, one row a point (p)."""

    entropy: Vector  # nats; ln k in the middle, 0 at a corner of the simplex
    # Index of the nearest corner of the simplex, the source with the largest weight.
    corner: NDArray[np.int64]
    corner_distance: Vector  # to it, Euclidean; the middle of k sources is at sqrt(1 - 1 / k)
    # To the nearest vertex of the region, Euclidean; NaN where it has more vertices than were
    # listed.
    vertex_distance: Vector
    # Sources at the smallest weight the region leaves them, (p, k); pinned ones apart.
    on_floor: Mask
    on_cap: Mask  # the same at the largest
    # Sources on either, (p,); all but one at a vertex, none in the inside.
    on_bound: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Shares:
    """Planned against realised, (r + 1, k): by regime, and in the last row over the run."""

    planned: Vector  # mean of the weights over steps
    realised: Vector  # shares of the sequences trained
    # Mean of a uniform draw from the region; the last row weighs regimes by their steps.
    centre: Vector
    bandit: Vector  # mean of the weights over steps of bandit phases; NaN where there was none
    random: Vector  # the same of random phases
    deviation: Vector  # largest difference of planned and realised share, (r + 1,)
    deviation_source: NDArray[np.int64]  # index of its source, (r + 1,)
    # Sequences planned less sequences trained since the run began, after each phase, (p, k).
    lag_sequences: Vector


@dataclass(frozen=True, eq=False)
class Faces:
    """Time on faces, as shares of each regime's steps.

    Look for: a source that spends a regime on its floor, which the bandit has written off, and one
    on its cap, which it would give more.
    """

    on_a_face: Vector  # at least one source on a bound, (r,)
    at_a_vertex: Vector  # all free sources but at most one on a bound, (r,)
    on_floor: Vector  # by source, (r, k)
    on_cap: Vector  # by source, (r, k)


def places(weights: Vector, region: Region, limit: int) -> Places:
    """Where points of a region stand.

    Args:
        weights: (p, k).
        limit: list the region's vertices if it has no more than that.
    """
    inside = face(region)
    highest = inside.lower.copy()
    highest[inside.free] += inside.room
    free = np.zeros(region.lower.size, dtype=bool)
    free[inside.free] = True
    on_floor = free & (weights <= inside.lower + EDGE)
    on_cap = free & (weights >= highest - EDGE)
    corner = weights.argmax(axis=1)
    vertices = list_vertices(region, limit)
    distance = np.full(len(weights), np.nan)
    if vertices is not None:
        squares = (vertices**2).sum(axis=1)
        nearest = [int((squares - 2 * vertices @ point).argmin()) for point in weights]
        distance = np.linalg.norm(weights - vertices[nearest], axis=1)
    return Places(
        np.array([entropy(row) for row in weights]),
        corner,
        np.linalg.norm(weights - np.eye(region.lower.size)[corner], axis=1),
        distance,
        on_floor,
        on_cap,
        np.count_nonzero(on_floor | on_cap, axis=1),
    )


def path_places(walk: Walk, limit: int) -> Places:
    """Where every phase of the walk stands in the region of its regime; see `places`."""
    parts = [
        places(walk.phases.weights[walk.regime == index], region, limit)
        for index, region in enumerate(walk.regions)
    ]
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return Places(*map(np.concatenate, columns))


def shares(walk: Walk) -> Shares:
    """Planned against realised shares, by regime and over the run."""
    phases = walk.phases
    rows = [walk.regime == index for index in range(len(walk.names))]
    rows.append(np.ones(walk.regime.size, dtype=bool))
    centres = np.array([centre(region) for region in walk.regions])
    steps = np.array([phases.steps[row].sum() for row in rows[:-1]], dtype=np.float64)
    planned = np.array([_mean_weights(walk, row) for row in rows])
    trained = np.array([phases.sequences[row].sum(axis=0) for row in rows], dtype=np.float64)
    realised = trained / trained.sum(axis=1, keepdims=True)
    off = np.abs(planned - realised)
    asked = phases.weights * phases.sequences.sum(axis=1, keepdims=True)
    return Shares(
        planned,
        realised,
        np.vstack([centres, steps @ centres / steps.sum()]),
        np.array([_mean_weights(walk, row & (phases.kinds == "bandit")) for row in rows]),
        np.array([_mean_weights(walk, row & (phases.kinds == "random")) for row in rows]),
        off.max(axis=1),
        off.argmax(axis=1),
        np.cumsum(asked - phases.sequences, axis=0),
    )


def faces(walk: Walk, path: Places) -> Faces:
    """How long the walk stood on faces of its regions."""
    free = np.array([face(region).free.size for region in walk.regions])[walk.regime]

    def time(where: Mask) -> Vector:
        parts = [walk.regime == index for index in range(len(walk.names))]
        steps = walk.phases.steps
        return np.array([steps[part] @ where[part] / steps[part].sum() for part in parts])

    return Faces(
        time(path.on_bound > 0),
        time(path.on_bound >= free - 1),
        time(path.on_floor),
        time(path.on_cap),
    )


def draw_points(walk: Walk, count: int, seed: int) -> tuple[Vector, ...]:
    """What chance would do: uniform draws from each regime's region, (count, k) each.

    Draw n of a regime is the same whatever `count` is.
    """
    return tuple(
        np.array(
            [
                draw(region, np.random.default_rng([seed, Purpose.WALK_PICTURE, index, n]))
                for n in range(count)
            ]
        )
        for index, region in enumerate(walk.regions)
    )


def _mean_weights(walk: Walk, rows: Mask) -> Vector:
    steps = walk.phases.steps[rows]
    if steps.size == 0:
        return np.full(len(walk.phases.sources), np.nan)
    return np.asarray(steps @ walk.phases.weights[rows] / steps.sum())
