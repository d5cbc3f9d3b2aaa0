"""Flat pictures of regions of weights: convex hulls, exact shadows, lists of vertices.

A region of sixteen sources may have too many vertices to list, and points drawn from it crowd
around its middle, so that their hull is much too small. Its shadow on a plane is neither listed nor
sampled here, but felt for: the vertex that lies farthest in a direction is one knapsack away.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from andrea.mixture.simplex import TOLERANCE, Region, Vector, best_vertex, face, settled

DECIMALS = 12  # points closer than this are one


def convex_hull(points: Vector) -> Vector:
    """Corners of the convex hull, by Andrew's monotone chain (1979).

    Args:
        points: (m, 2), in any order, with or without duplicates.

    Returns:
        Corners, (h, 2), counter-clockwise from the leftmost (then lowest) one; none of them lies on
        the line between its neighbours. One point or the two ends where all lie on a line.
    """
    ordered = np.unique(np.round(points, DECIMALS) + 0.0, axis=0)
    if len(ordered) < 3:
        return ordered
    below, above = _chain(ordered), _chain(ordered[::-1])
    return np.array(below[:-1] + above[:-1])


def shadow(region: Region, axes: Vector, origin: Vector) -> Vector:
    """The exact outline of a region seen along two axes.

    Every edge of the hull of the corners known so far is pushed outwards: the vertex of the region
    farthest in that direction is a new corner, or the edge belongs to the outline.

    Args:
        axes: directions of the plane, (2, k).
        origin: the weights that stand at (0, 0), (k,).

    Returns:
        Corners, (h, 2), as `convex_hull` orders them.
    """
    directions = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    outline = np.empty((0, 2))
    while True:
        farthest = np.array([best_vertex(direction @ axes, region) for direction in directions])
        grown = convex_hull(np.vstack([outline, (farthest - origin) @ axes.T]))
        if len(grown) == 1 or np.array_equal(grown, outline):
            return grown
        outline = grown
        edges = np.roll(outline, -1, axis=0) - outline
        directions = np.stack([edges[:, 1], -edges[:, 0]], axis=1)


def area(polygon: Vector) -> float:
    """Area of a polygon with corners (m, 2), counter-clockwise (the shoelace formula)."""
    x, y = polygon[:, 0], polygon[:, 1]
    return float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) / 2 + 0.0)


def list_vertices(region: Region, limit: int) -> Vector | None:
    """All vertices of a region that has few.

    All free sources but one are empty or full. Choices are made source by source, and those that
    the rest can no longer bring to the right sum are dropped at once, so that the work follows the
    number of vertices and not two to the number of sources.

    Args:
        limit: how many vertices are few.

    Returns:
        Vertices, (m, k), in lexicographic order; None when more than `limit` turn up
            on the way.
    """
    inside = face(region)
    if inside.free.size == 0:
        return settled(inside.lower, region)[None]
    found = np.empty((0, inside.free.size))
    for last in range(inside.free.size):
        amounts = _fillings(inside.room, inside.mass, last, limit)
        if amounts is None:
            return None
        found = np.unique(np.vstack([found, np.round(amounts, DECIMALS) + 0.0]), axis=0)
        if len(found) > limit:
            return None
    corners = np.tile(inside.lower, (len(found), 1))
    corners[:, inside.free] += found
    return np.array([settled(corner, region) for corner in corners])


def _fillings(room: Vector, mass: float, last: int, limit: int) -> Vector | None:
    """Ways to fill `room` (n,) with `mass` where only `last` may be partly full, (m, n)."""
    others = np.delete(np.arange(room.size), last)
    left, full = np.array([mass]), np.zeros((1, room.size), dtype=bool)
    for place, source in enumerate(others):
        reach = room[last] + room[others[place + 1 :]].sum()
        left = np.concatenate([left, left - room[source]])
        full = np.concatenate([full, full])
        full[len(full) // 2 :, source] = True
        fits: NDArray[np.bool_] = (left >= -TOLERANCE) & (left <= reach + TOLERANCE)
        left, full = left[fits], full[fits]
        if left.size > limit:
            return None
    amounts = np.where(full, room, 0.0)
    amounts[:, last] = left
    return amounts


def _chain(ordered: Vector) -> list[Vector]:
    """The part of the hull to the right of the way from the first point to the last."""
    chain: list[Vector] = []
    for point in ordered:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(a: Vector, b: Vector, c: Vector) -> float:
    """Positive where the way a, b, c turns left."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
