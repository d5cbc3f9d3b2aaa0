"""How large a region of weights is, and where its middle lies.

The volume of { x : 0 <= x <= room, sum x = mass } is, up to a factor, the inclusion-exclusion sum
over the sets S of sources of (-1)^|S| max(0, mass - sum of room over S)^(n - 1). Its terms cancel
to many digits, so it is summed in integers, without any rounding; sets of equal sums are counted
once, so that equal caps cost little.
"""

from __future__ import annotations

import math

import numpy as np

from andrea.mixture.simplex import Region, Vector, face, settled, tilt

UNIT = 2**62  # an integer of this size stands for the weight 1
SUMS_LIMIT = 2**14  # beyond so many different sums the volume comes from an integral

Sums = dict[int, int]


def share_of_simplex(region: Region) -> float:
    """The region's volume as a share of its face of the simplex; see `log10_share`."""
    return float(10 ** log10_share(region)[0])


def log10_share(region: Region) -> tuple[float, int]:
    """The region's volume as a share of the part of the simplex with the same pinned weights.

    Exact where the caps make at most 2^14 different sums (any fourteen caps, or more with equal
    ones), beyond that by numerical inversion of the characteristic function, good to about 1e-9.

    Returns:
        log10 of the share, and the dimension of the region; (0, 0) for a single point.
    """
    inside = face(region)
    count = inside.free.size
    if count == 0:
        return 0.0, 0
    room, mass = _integers(inside.room), round(inside.mass * UNIT)
    sums = _signed_sums(room, mass, SUMS_LIMIT)
    if sums is None:
        log10_p = _log_by_inversion(inside.room, inside.mass) / math.log(10)
    else:
        log10_p = math.log10(_power_sum(sums, mass, count - 1)) - math.log10(mass ** (count - 1))
    whole = inside.mass + math.fsum(inside.lower[inside.free])
    return log10_p + (count - 1) * math.log10(inside.mass / whole), count - 1


def marginal_cdf(region: Region, source: int, weights: Vector) -> Vector:
    """Probability that a uniform draw gives `source` at most each of `weights`; exact.

    Args:
        region: the region drawn from; the time doubles with every different cap that binds.
        source: index of a source whose weight is not pinned.
        weights: where to evaluate, (m,).

    Returns:
        Probabilities, (m,).
    """
    inside = face(region)
    index = int(np.flatnonzero(inside.free == source)[0])
    sums, room, mass = _without(inside.room, inside.mass, index)
    power = inside.free.size - 1
    none, full = (_power_sum(sums, left, power) for left in (mass, mass - room))
    amounts = np.clip(np.asarray(weights) - inside.lower[source], 0, inside.room[index])
    above = (_power_sum(sums, mass - amount, power) for amount in _integers(amounts))
    return np.array([(none - left) / (none - full) for left in above])


def centre(region: Region) -> Vector:
    """The mean of a uniform draw (the centroid), (k,); exact.

    The time doubles with every different cap that binds.
    """
    inside = face(region)
    count = inside.free.size
    weights = inside.lower.copy()
    for index, source in enumerate(inside.free):
        sums, room, mass = _without(inside.room, inside.mass, index)
        none, full = (_power_sum(sums, left, count - 1) for left in (mass, mass - room))
        area = _power_sum(sums, mass, count) - _power_sum(sums, mass - room, count)
        weights[source] += (area - count * room * full) / (count * (none - full)) / UNIT
    return settled(weights, region)


def _integers(values: Vector) -> list[int]:
    return [round(float(value) * UNIT) for value in values]


def _without(room: Vector, mass: float, index: int) -> tuple[Sums, int, int]:
    """Signed sums of every source but one, the room of that one, and the mass, in integers."""
    units = _integers(room)
    total = round(mass * UNIT)
    own = units.pop(index)
    sums = _signed_sums(units, total)
    assert sums is not None
    return sums, own, total


def _signed_sums(room: list[int], mass: int, limit: int | None = None) -> Sums | None:
    """Sums below `mass` of subsets of `room`, each with the sum of (-1)^size over its subsets.

    Returns:
        None when there are more than `limit`.
    """
    sums = {0: 1}
    for own in room:
        for before, signs in list(sums.items()):
            if before + own < mass:
                sums[before + own] = sums.get(before + own, 0) - signs
        if limit is not None and len(sums) > limit:
            return None
    return sums


def _power_sum(sums: Sums, mass: int, power: int) -> int:
    return sum(signs * (mass - below) ** power for below, signs in sums.items() if below < mass)


def _log_by_inversion(room: Vector, mass: float) -> float:
    """Ln of the probability that uniform weights of the sum `mass` fit into `room`.

    The density of a sum of independent uniforms, tilted so that `mass` is its mean (Daniels 1954):
    there it is of the order of one over the deviation, and nothing cancels. The sum is bounded,
    so the trapezoid rule at this step has no error but where it ends.
    """
    capacity = math.fsum(room)
    mirrored = min(mass, capacity - mass)
    rate = tilt(room, mirrored)
    step = 2 * math.pi / capacity
    frequency = step * np.arange(1, 2**15)
    transform = np.exp(-1j * frequency * mirrored)
    for own in room:
        argument = rate - 1j * frequency
        transform *= np.expm1(-argument * own) / math.expm1(-rate * own) * rate / argument
    density = step / math.pi * (0.5 + transform.real.sum())
    log_mass = float(np.sum(np.log(-np.expm1(-rate * room) / rate)))
    log_volume = math.log(density) + log_mass + rate * mirrored
    return log_volume + math.lgamma(room.size) - (room.size - 1) * math.log(mass)
