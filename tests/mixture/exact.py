"""What is known exactly of a small region, by its definition."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from andrea.mixture.simplex import Region, Vector, face
from andrea.mixture.volume import log10_share


def share_of_simplex(region: Region) -> float:
    return float(10 ** log10_share(region)[0])


def vertices(region: Region) -> Vector:
    """All vertices, (m, k), in lexicographic order: all sources but one are on a bound."""
    inside = face(region)
    count = inside.free.size
    found = {(0.0,) * count}
    if count:
        found.clear()
        for last in range(count):
            for full in product((0.0, 1.0), repeat=count - 1):
                amounts = np.insert(np.delete(inside.room, last) * full, last, 0.0)
                amounts[last] = inside.mass - math.fsum(amounts)
                if -1e-12 <= amounts[last] <= inside.room[last] + 1e-12:
                    found.add(tuple(np.round(amounts, 12) + 0.0))
    corners = np.tile(inside.lower, (len(found), 1))
    corners[:, inside.free] += np.array(sorted(found))
    return corners


def marginal_cdf(region: Region, source: int, weights: Vector) -> Vector:
    """Probability that a uniform draw gives a free `source` at most each of `weights`, (m,).

    What is left for the others, by inclusion and exclusion of those above their caps, in whole
    numbers: the terms cancel to many digits.
    """
    inside = face(region)
    unit = 2**62
    index = int(np.flatnonzero(inside.free == source)[0])
    rooms = [round(float(room) * unit) for room in inside.room]
    own, mass = rooms.pop(index), round(inside.mass * unit)
    sums: dict[int, int] = {0: 1}
    for room in rooms:
        for before, signs in list(sums.items()):
            if before + room < mass:
                sums[before + room] = sums.get(before + room, 0) - signs

    def volume(left: int) -> int:
        return sum(n * (left - below) ** len(rooms) for below, n in sums.items() if below < left)

    amounts = np.clip(np.asarray(weights) - inside.lower[source], 0, inside.room[index])
    none, full = volume(mass), volume(mass - own)
    above = [volume(mass - round(float(amount) * unit)) for amount in amounts]
    return np.array([(none - left) / (none - full) for left in above])
