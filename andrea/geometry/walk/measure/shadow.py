"""The walk seen from above: the path and each regime's polygon on one plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from andrea.geometry.walk.measure.phases import Walk
from andrea.geometry.walk.measure.polygon import list_vertices, shadow
from andrea.mixture.simplex import Vector


@dataclass(frozen=True, eq=False)
class Axes:
    """A plane in the space of weights."""

    origin: Vector  # the weights that stand at (0, 0), (k,)
    # Orthonormal, (2, k); the largest part of each is positive, so that the axis points to more of
    # that source.
    directions: Vector
    explained: Vector  # share of the variance of the points it was made from, (2,)


@dataclass(frozen=True, eq=False)
class Plane:
    """Path and polygons on a plane.

    Look for: where in its polygon a regime walks, and the jump between polygons at a border. What
    looks near on the plane may be far apart in the other dimensions: see `off_plane`.
    """

    axes: Axes  # the plane
    path: Vector  # one point a phase, (p, 2)
    off_plane: Vector  # Euclidean distance of the phase's weights from the plane, (p,)
    explained: Vector  # share of the path's variance over steps that lies along each axis, (2,)
    corners: Vector  # of the simplex, one a source, (k, 2), to carry the names
    # By regime, the exact outline of its region, counter-clockwise, (h, 2).
    outlines: tuple[Vector, ...]
    # By regime, all vertices of its region where they are few, (m, 2), or None.
    vertices: tuple[Vector | None, ...]
    points: tuple[Vector, ...]  # by regime, uniform draws, (n, 2): where chance alone would walk


def principal_axes(points: Vector, masses: Vector) -> Axes:
    """The plane through the mean of points along which they vary most (Pearson 1901).

    Args:
        points: (n, k).
        masses: of each point, not negative, (n,).
    """
    weights = masses / masses.sum()
    origin = weights @ points
    away = points - origin
    directions = np.linalg.eigh((away.T * weights) @ away).eigenvectors
    found = directions.T[::-1][:2]
    found = np.vstack([found, np.zeros((2 - len(found), points.shape[1]))])
    largest = found[np.arange(2), np.abs(found).argmax(axis=1)]
    found = found * np.where(largest < 0, -1.0, 1.0)[:, None]
    return Axes(origin, found, _explained(away, weights, found))


def region_axes(drawn: tuple[Vector, ...]) -> Axes:
    """Principal axes of the union of the regions, each of which counts the same.

    Made from the regions and not from the path, so that runs with the same floors and caps are
    shown on the same plane, whatever their bandit did; give `project` the axes of one of two other
    runs to compare them.

    Args:
        drawn: uniform draws from each region, (n, k) each.
    """
    masses = np.concatenate([np.full(len(points), 1 / len(points)) for points in drawn])
    return principal_axes(np.vstack(drawn), masses)


def project(walk: Walk, axes: Axes, drawn: tuple[Vector, ...], limit: int) -> Plane:
    """Path and polygons on a plane.

    Args:
        drawn: uniform draws from each regime's region, (n, k) each.
        limit: list a region's vertices if it has no more than that.
    """
    weights, steps = walk.phases.weights, walk.phases.steps
    away = weights - axes.origin
    path = away @ axes.directions.T
    share = steps / steps.sum()
    listed = [list_vertices(region, limit) for region in walk.regions]
    return Plane(
        axes,
        path,
        np.linalg.norm(away - path @ axes.directions, axis=1),
        _explained(away - share @ away, share, axes.directions),
        _flat(np.eye(axes.origin.size), axes),
        tuple(shadow(region, axes.directions, axes.origin) for region in walk.regions),
        tuple(None if vertices is None else _flat(vertices, axes) for vertices in listed),
        tuple(_flat(points, axes) for points in drawn),
    )


def _flat(points: Vector, axes: Axes) -> Vector:
    return np.asarray((points - axes.origin) @ axes.directions.T)


def _explained(away: Vector, weights: Vector, directions: Vector) -> Vector:
    """Share of the variance of centred points along each direction; 0 where nothing varies."""
    total = weights @ (away**2).sum(axis=1)
    along = weights @ (away @ directions.T) ** 2
    return np.asarray(along / total if total > 0 else np.zeros(2))
