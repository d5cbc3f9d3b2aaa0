"""Three sources as a triangle: what the regimes can reach in it, and the path.

A mixture of k sources is shown by the proportions of the three among themselves. That map sends
convex sets to convex sets (it is linear-fractional), so what a region reaches is a polygon with
straight sides, found exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from andrea.common.errors import UserError
from andrea.geometry.walk.measure.phases import Walk
from andrea.geometry.walk.measure.polygon import DECIMALS, area, convex_hull
from andrea.mixture.simplex import TOLERANCE, Region, Vector

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])


@dataclass(frozen=True, eq=False)
class Reach:
    """What a region reaches in the triangle."""

    # Corners of the polygon, counter-clockwise in the picture, (m, 3), rows sum to 1; none where
    # the region excludes all three.
    proportions: Vector
    plane: Vector  # the same in the picture, (m, 2)
    area_share: float  # of the triangle


@dataclass(frozen=True, eq=False)
class Triangle:
    """The walk in the triangle of three sources.

    Look for: sides of a polygon that cut a corner off (floors and caps at work) and points that
    crowd at a side. A point says nothing about the other sources: `mass` tells how much of the
    mixture it stands for.
    """

    sources: tuple[str, ...]  # the three names, at the left, the right and the upper corner
    corners: Vector  # of the triangle, sides of length 1, (3, 2)
    reaches: tuple[Reach, ...]  # by regime
    proportions: Vector  # of the three in each phase, (p, 3); NaN where all three have no weight
    plane: Vector  # the same in the picture, (p, 2)
    mass: Vector  # share of the three together, (p,)


def to_plane(proportions: Vector) -> Vector:
    """Places in the picture, (m, 2), of proportions (m, 3) that sum to 1 (Moebius 1827)."""
    return np.asarray(proportions @ CORNERS)


def triangle(walk: Walk, sources: Sequence[str]) -> Triangle:
    """The walk in the triangle of three sources.

    Raises:
        UserError: not three different sources of the run.
    """
    known = walk.phases.sources
    if len(sources) != 3 or len(set(sources) & set(known)) != 3:
        raise UserError(
            f"triangle: {', '.join(sources)} is not allowed, must be three different sources of"
            f" {', '.join(known)}"
        )
    three = [known.index(source) for source in sources]
    weights = walk.phases.weights[:, three]
    mass = weights.sum(axis=1)
    shown = mass > TOLERANCE
    proportions = np.where(shown, weights.T / np.where(shown, mass, 1.0), np.nan).T
    return Triangle(
        tuple(sources),
        CORNERS,
        tuple(reach(region, three) for region in walk.regions),
        proportions,
        to_plane(proportions),
        mass,
    )


def reach(region: Region, three: Sequence[int]) -> Reach:
    """All proportions of three sources that a region allows, the other sources being free to move.

    Proportions y belong to weights s y with a common mass s. Floors ask for s >= l_i / y_i, caps
    for s <= u_i / y_i, and the others leave between 1 - sum of their caps and 1 - sum of their
    floors. Some s obeys all of that just where every lower limit is below every upper one (Helly
    1923), and each such pair is a straight cut through the triangle. A section, with the other
    sources held where they stand, would be smaller, and the path would leave it at every phase.

    Returns:
        With k = 3 the region itself.
    """
    lower, upper = region.lower[three], region.upper[three]
    least = max(0.0, 1 - math.fsum(np.delete(region.upper, three)))
    most = min(1.0, 1 - math.fsum(np.delete(region.lower, three)))
    polygon = np.eye(3)
    for i, own in enumerate(np.eye(3)):
        polygon = _cut(polygon, lower[i] - most * own)
        polygon = _cut(polygon, least * own - upper[i])
        if upper[i] == 0:
            polygon = _cut(polygon, own)
        for j, other in enumerate(np.eye(3)):
            if i != j:
                polygon = _cut(polygon, lower[i] * other - upper[j] * own)
    if math.fsum(upper) <= 0 or most <= 0:
        polygon = polygon[:0]
    plane = convex_hull(to_plane(polygon))
    flat = np.column_stack([plane, np.ones(len(plane))])
    solved = np.linalg.solve(np.column_stack([CORNERS, np.ones(3)]).T, flat.T).T
    proportions: Vector = np.asarray(np.round(solved, DECIMALS - 1) + 0.0, dtype=np.float64)
    return Reach(proportions, to_plane(proportions), 2 * area(proportions[:, 1:]))


def _cut(polygon: Vector, excess: Vector) -> Vector:
    """The part of a polygon (m, 3) where y @ excess <= 0 (Sutherland and Hodgman 1974).

    `excess` is the value at the three corners of the triangle, so that a number b added to all of
    them stands for the constant b.
    """
    values = polygon @ excess
    values = np.where(np.abs(values) <= TOLERANCE, 0.0, values)
    kept = []
    for here, there in zip(range(len(polygon)), np.roll(np.arange(len(polygon)), -1), strict=True):
        if values[here] <= 0:
            kept.append(polygon[here])
        if values[here] * values[there] < 0:
            share = values[here] / (values[here] - values[there])
            kept.append(polygon[here] + share * (polygon[there] - polygon[here]))
    return np.array(kept).reshape(-1, 3)
