"""How far one can go until the loss has risen by so much: the search along one line."""

from __future__ import annotations

import math
from collections.abc import Callable

SMALLEST_DISTANCE = 2.0**-20
LARGEST_DISTANCE = 64.0  # beyond it nothing is left of the checkpoint
PRECISION = 0.005  # of the rise where a search ends; about half of that in the distance
NARROWEST = 1e-3  # share by which the ends of a bracket differ when a search gives up


def crossing(rise: Callable[[float], float], level: float, first: float) -> float:
    """A distance at which the loss has risen by `level`.

    The distance is doubled or halved until the level is bracketed. Then false position narrows
    the bracket, between logarithms, where a rise by any power of the distance is a straight line;
    an end that stays twice counts half (the Illinois rule, Dowell & Jarratt 1971), and where an
    end has no finite logarithm the bracket is halved instead. On a bumpy line this is one of the
    crossings.

    Args:
        rise: of the loss at a positive distance; one that is not finite counts as too high.
        level: above 0.
        first: distance to begin with, above 0.

    Returns:
        Where the rise is within the share `PRECISION` of the level; where it jumps, the end below
        the jump; `LARGEST_DISTANCE` where the level is not reached before.
    """
    low, high = 0.0, math.inf
    low_gap, high_gap, last_gap = -math.inf, math.inf, 0.0
    distance = first
    while high > SMALLEST_DISTANCE and low < (1 - NARROWEST) * high:
        gap = _log_ratio(rise(distance), level)
        if abs(gap) <= PRECISION:
            return distance
        stays_twice = gap * last_gap > 0
        if gap < 0:
            low, low_gap = distance, gap
            high_gap /= 1 + stays_twice
        else:
            high, high_gap = distance, gap
            low_gap /= 1 + stays_twice
        last_gap = math.copysign(1, gap)
        if low >= LARGEST_DISTANCE:
            return LARGEST_DISTANCE
        if high == math.inf:
            distance = min(2 * low, LARGEST_DISTANCE)
        elif low == 0:
            distance = high / 2
        else:
            width = high_gap - low_gap
            share = -low_gap / width if math.isfinite(width) else 0.5
            distance = low * (high / low) ** share
    return low


def _log_ratio(rise: float, level: float) -> float:
    """log(rise / level); -inf where the loss has not risen, inf where it is not a number."""
    if math.isfinite(rise):
        return math.log(rise / level) if rise > 0 else -math.inf
    return math.inf
