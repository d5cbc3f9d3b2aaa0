"""The region of mixture weights that floors and caps cut out of the simplex.

R = { w : sum w = 1, lower <= w <= upper }. Weights are returned as float64, (k,); they sum to 1
within 1e-12 and keep the bounds exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]

TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Region:
    """Floors and caps on the weights of k sources.

    Raises:
        ValueError: a bound is outside 0..1, a floor is above its cap, or no weights fit; the
            message gives the indices of the sources that bind.
    """

    lower: Vector  # floors, (k,)
    upper: Vector  # caps, (k,); a cap of 0 excludes the source

    def __post_init__(self) -> None:
        lower, upper = (np.array(bound, dtype=np.float64) for bound in (self.lower, self.upper))
        if lower.ndim != 1 or lower.shape != upper.shape or lower.size == 0:
            raise ValueError(f"floors of shape {lower.shape} and caps of shape {upper.shape}")
        outside = ~((lower >= 0) & (lower <= 1) & (upper >= 0) & (upper <= 1))
        if outside.any():
            raise ValueError(f"bounds outside 0..1 at sources {_indices(outside)}")
        if (lower > upper).any():
            raise ValueError(f"floors above caps at sources {_indices(lower > upper)}")
        floors, caps = math.fsum(lower), math.fsum(upper)
        if floors > 1 + TOLERANCE:
            raise ValueError(f"floors sum to {floors:.6g} > 1 at sources {_indices(lower > 0)}")
        if caps < 1 - TOLERANCE:
            raise ValueError(f"caps sum to {caps:.6g} < 1 at sources {_indices(upper < 1)}")
        for bound in (lower, upper):
            bound.setflags(write=False)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def active(self) -> NDArray[np.bool_]:
        """Sources that are not excluded, (k,)."""
        return self.upper > 0


def without(region: Region, sources: Iterable[int]) -> Region:
    """The region in which `sources` have floor and cap 0.

    Raises:
        ValueError: nothing is left.
    """
    lower, upper = region.lower.copy(), region.upper.copy()
    for source in sources:
        lower[source] = upper[source] = 0.0
    return Region(lower, upper)


@dataclass(frozen=True, eq=False)
class Face:
    """The region in the coordinates that can move: lower + x, 0 <= x <= room, sum x = mass."""

    lower: Vector  # smallest weights that occur in the region, (k,)
    # Indices of the n sources whose weight is not pinned; empty or at least two.
    free: NDArray[np.intp]
    room: Vector  # largest x of the free sources, (n,)
    mass: float  # what the free sources share above `lower`


def face(region: Region) -> Face:
    """Tighten the bounds to what can occur and take the pinned coordinates out.

    A source whose weight can vary by less than 1e-12 counts as pinned.
    """
    # No source can rise by more than all the others leave it, nor fall below what their caps force
    # upon it: bounds that nobody can reach would spoil the volume and stall the draw.
    slack = 1 - math.fsum(region.lower)
    excess = math.fsum(region.upper) - 1
    highest = np.minimum(region.upper, region.lower + slack)
    lowest = np.clip(region.upper - excess, region.lower, region.upper)
    free = np.flatnonzero(highest - lowest > TOLERANCE)
    mass = 1 - math.fsum(lowest)
    return Face(lowest, free, np.minimum(highest - lowest, mass)[free], mass)


def project(point: ArrayLike, region: Region) -> Vector:
    """The weights of the region nearest to a point in Euclidean distance.

    w = clip(point - t, lower, upper); the sum over the sources falls piecewise linearly with t, so
    its root is found by sorting the 2k breakpoints: O(k log k), exact to rounding (Duchi et al.
    2008; Wang and Carreira-Perpinan 2013; Wang and Lu 2015).

    Args:
        point: any finite vector, (k,).
    """
    y = np.asarray(point, dtype=np.float64)
    lower, upper = region.lower, region.upper
    # At `y - upper` a source leaves its cap and begins to fall with t, at `y - lower` it is on its
    # floor: between two breakpoints the sum falls with the number of sources that move.
    breaks = np.concatenate([y - upper, y - lower])
    order = np.argsort(breaks, kind="stable")
    breaks = breaks[order]
    moving = np.cumsum(np.where(order < y.size, 1, -1))[:-1]
    falls = np.cumsum(moving * np.diff(breaks))
    segment = min(int(np.searchsorted(falls, math.fsum(upper) - 1)), falls.size - 1)
    middle = 0.5 * (breaks[segment] + breaks[segment + 1])
    at_upper, at_lower = y - middle >= upper, y - middle <= lower
    between = ~(at_upper | at_lower)
    # The segment is known, so t is solved for anew from the weights that move in it: the running
    # sums that led there have gathered rounding errors.
    if between.any():
        fixed = np.where(at_upper, upper, lower)[~between]
        middle = (math.fsum([*y[between], *fixed]) - 1) / np.count_nonzero(between)
    return settled(y - middle, region)


def best_vertex(score: ArrayLike, region: Region) -> Vector:
    """The vertex of the region with the largest sum of score times weight.

    Every source starts at its floor; what is left is poured into the sources by falling score
    (continuous knapsack, Dantzig 1957). All but one source end on a bound. Equal scores: the lower
    index first. Infinite scores are allowed.

    Args:
        score: one number a source, (k,).

    Raises:
        ValueError: a score is NaN.
    """
    score = np.asarray(score, dtype=np.float64)
    if np.isnan(score).any():
        raise ValueError(f"score is NaN at sources {_indices(np.isnan(score))}")
    order = np.argsort(-score, kind="stable")
    room = (region.upper - region.lower)[order]
    poured = _poured(1 - math.fsum(region.lower), room)
    lower, upper = region.lower[order], region.upper[order]
    weights = np.empty_like(score)
    # A source that is full takes its cap as it stands: floor plus room may miss it by a last digit.
    weights[order] = np.where(poured == room, upper, np.minimum(lower + poured, upper))
    return settled(weights, region)


def draw(region: Region, rng: np.random.Generator) -> Vector:
    """Weights drawn exactly uniformly from the region.

    Independent uniforms on the room of each source, given their sum, are uniform on the region, and
    so are uniforms tilted by exp(-rate x), because the tilt of a point depends on its sum alone.
    So: draw all but one from the tilted law whose mean sum is right, let the roomiest source take
    what is left, and accept that with the probability its own tilt has (Arratia and DeSalvo 2016,
    deterministic second half). About one in sqrt(n) tries is accepted whatever the caps are;
    any rate is exact, a good one is fast. A region that is more than half full is mirrored first.

    Args:
        rng: consumed by a varying number of draws; make a fresh one for each call.
    """
    inside = face(region)
    weights = inside.lower.copy()
    if inside.free.size:
        capacity = math.fsum(inside.room)
        # In the fuller half what is missing is drawn instead, where rejection is as rare again.
        if inside.mass <= capacity / 2:
            amounts = _slice(inside.room, inside.mass, rng)
        else:
            amounts = inside.room - _slice(inside.room, capacity - inside.mass, rng)
        weights[inside.free] += amounts
    return settled(weights, region)


def settled(weights: Vector, region: Region) -> Vector:
    """Take the rounding error out of weights that lie in the region but for it.

    The largest weights that have room take it, so that a weight of 0 stays 0.

    Args:
        weights: (k,), within rounding of the region.
    """
    result = np.clip(weights, region.lower, region.upper)
    error = 1 - math.fsum(result)
    bound = region.upper if error > 0 else region.lower
    order = np.argsort(-result, kind="stable")
    change = _poured(abs(error), np.abs(bound - result)[order])
    result[order] += math.copysign(1, error) * change
    return np.clip(result, region.lower, region.upper)


def entropy(weights: ArrayLike) -> float:
    """Shannon entropy of weights (k,) in nats; 0 at a corner, ln k at the centre."""
    positive = np.asarray(weights, dtype=np.float64)
    positive = positive[positive > 0]
    return float(-np.sum(positive * np.log(positive)) + 0.0)


def tilt(room: Vector, mass: float) -> float:
    """The rate at which independent densities exp(-rate x) on [0, room] have the mean sum `mass`.

    Args:
        room: (n,), positive.
        mass: at most half the sum of `room`.

    Returns:
        The rate, good to a few percent.
    """
    rates = np.geomspace(1e-3, room.size, 33) / mass
    products = np.minimum(rates[:, None] * room, 500.0)
    means = np.sum(1 / rates[:, None] - room / np.expm1(products), axis=1)
    return float(np.interp(-mass, -means, rates))


def _slice(room: Vector, mass: float, rng: np.random.Generator) -> Vector:
    """A uniform point of { x : 0 <= x <= room, sum x = mass }; mass is at most half of the room."""
    rate = tilt(room, mass)
    last = int(np.argmax(room))
    span = np.expm1(-rate * np.delete(room, last))
    while True:
        uniform = rng.random((64, room.size))
        others = np.log1p(uniform[:, 1:] * span) / -rate
        rest = mass - others.sum(axis=1)
        fits = (rest >= 0) & (rest <= room[last])
        # The roomiest source's density at what is left for it, as a share of its largest.
        accepted = fits & (uniform[:, 0] < np.exp(-rate * np.maximum(rest, 0)))
        if accepted.any():
            first = int(np.argmax(accepted))
            return np.insert(others[first], last, rest[first])


def _poured(amount: float, room: Vector) -> Vector:
    """Fill `room` (k,) from the left with `amount`."""
    before = np.cumsum(room) - room
    return np.clip(amount - before, 0, room)


def _indices(mask: NDArray[np.bool_]) -> list[int]:
    return list(map(int, np.flatnonzero(mask)))
