"""How large a region of weights is, and where its middle lies.

The volume of { x : 0 <= x <= room, sum x = mass } is, up to a factor, the inclusion-exclusion sum
over the sets S of sources of (-1)^|S| max(0, mass - sum of room over S)^(n - 1). Its terms cancel
to many digits, so it is summed in integers, without any rounding; sets of equal sums are counted
once, so that equal caps cost little.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from andrea.mixture.simplex import Region, Vector, face, settled, tilt

UNIT = 2**62  # an integer of this size stands for the weight 1
SUMS_LIMIT = 2**14  # beyond so many different sums the volume comes from an integral

Sums = dict[int, int]


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


def centre(region: Region) -> Vector:
    """The mean of a uniform draw (the centroid), (k,).

    Exact where `log10_share` is, beyond that by the same inversion, good to about 1e-12.
    """
    inside = face(region)
    count = inside.free.size
    weights = inside.lower.copy()
    mass = round(inside.mass * UNIT)
    if _signed_sums(_integers(inside.room), mass, SUMS_LIMIT) is None:
        weights[inside.free] += _centre_by_inversion(inside.room, inside.mass)
        return settled(weights, region)
    for index, source in enumerate(inside.free):
        others = _integers(inside.room)
        room = others.pop(index)
        sums = _signed_sums(others, mass)
        assert sums is not None
        none, full = (_power_sum(sums, left, count - 1) for left in (mass, mass - room))
        area = _power_sum(sums, mass, count) - _power_sum(sums, mass - room, count)
        weights[source] += (area - count * room * full) / (count * (none - full)) / UNIT
    return settled(weights, region)


def _integers(values: Vector) -> list[int]:
    return [round(float(value) * UNIT) for value in values]


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
    """Ln of the probability that uniform weights of the sum `mass` fit into `room`."""
    capacity = math.fsum(room)
    mirrored = min(mass, capacity - mass)
    rate = tilt(room, mirrored)
    density = _transform(room, mirrored, rate).real.sum() * 2 / capacity
    log_mass = float(np.sum(np.log(-np.expm1(-rate * room) / rate)))
    log_volume = math.log(density) + log_mass + rate * mirrored
    return log_volume + math.lgamma(room.size) - (room.size - 1) * math.log(mass)


def _centre_by_inversion(room: Vector, mass: float) -> Vector:
    """Mean of each of independent uniforms on `room` (n,), given that their sum is `mass`.

    The tilt of a point depends on its sum alone, so the tilted mean given the sum is the same.
    """
    mirrored = min(mass, math.fsum(room) - mass)
    rate = tilt(room, mirrored)
    transform = _transform(room, mirrored, rate)
    argument = _argument(room, rate)
    means = np.empty_like(room)
    for index, own in enumerate(room):
        moment = 1 / argument + own * np.exp(-argument * own) / np.expm1(-argument * own)
        means[index] = (transform * moment).real.sum() / transform.real.sum()
    return means if mirrored == mass else room - means


def _transform(room: Vector, mass: float, rate: float) -> NDArray[np.complex128]:
    """Characteristic function of a sum of tilted uniforms, turned by `mass`; half of it at 0.

    Its sum is the density at `mass`. Tilted so that `mass` is the mean (Daniels 1954), that is of
    the order of one over the deviation, and nothing cancels. The sum is bounded, so the trapezoid
    rule at this step has no error but where it ends.
    """
    argument = _argument(room, rate)
    transform = np.exp((argument - rate) * mass)
    for own in room:
        transform *= np.expm1(-argument * own) / math.expm1(-rate * own) * rate / argument
    transform[0] /= 2
    return transform


def _argument(room: Vector, rate: float) -> NDArray[np.complex128]:
    step = 2 * math.pi / math.fsum(room)
    return np.asarray(rate - 1j * step * np.arange(2**15))
