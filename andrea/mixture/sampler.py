"""Which sequence stands in which row of a batch: exact shares, and a keyed order in each source.

All sequences have the same length, so a weight is a share of tokens and of sequences alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from andrea.seeds import Purpose

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

ROUNDS = 4


@dataclass(frozen=True)
class SamplerState:
    """Where the sampler stands.

    Attributes:
        remainders: sequences each source is owed, (k,); they sum to 0.
        cursors: sequences each source has given, over all epochs, (k,).
    """

    remainders: tuple[float, ...]
    cursors: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, exact."""
        return {"remainders": list(self.remainders), "cursors": list(self.cursors)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SamplerState:
        """The state that `to_json` wrote."""
        return cls(tuple(value["remainders"]), tuple(value["cursors"]))


@dataclass(frozen=True, eq=False)
class Plan:
    """The rows of one batch, in order.

    Attributes:
        source: index of the source of each row, (rows,).
        position: sequence inside the source, (rows,).
        epoch: how often the source had been read in full before, (rows,).
    """

    source: Integers
    position: Integers
    epoch: Integers


def init(k: int) -> SamplerState:
    """The state of k untouched sources."""
    return SamplerState((0.0,) * k, (0,) * k)


def plan(
    state: SamplerState, weights: ArrayLike, rows: int, sizes: ArrayLike, seed: int
) -> tuple[Plan, SamplerState]:
    """Choose the sequences of one batch.

    Row by row, every source earns its weight and the one that is owed most gives a sequence. A
    source of weight 0 gives none and loses what it was owed to the others at once.

    Args:
        state: before.
        weights: (k,), sum 1.
        rows: of the batch.
        sizes: sequences in each source, (k,).
        seed: of the run.

    Returns:
        The plan, and the state after it.

    Raises:
        ValueError: a source with weight holds no sequence.
    """
    share = np.asarray(weights, dtype=np.float64)
    size = np.asarray(sizes, dtype=np.int64)
    if (size[share > 0] < 1).any():
        empty = np.flatnonzero((share > 0) & (size < 1)).tolist()
        raise ValueError(f"no sequence to draw from sources {empty}")
    source, remainders = _allocate(np.array(state.remainders), share, rows)
    cursors = np.array(state.cursors, dtype=np.int64)
    count = cursors[source] + _occurrence(source)
    epoch, offset = np.divmod(count, size[source])
    position = permuted(seed, source, epoch, offset, size[source])
    cursors += np.bincount(source, minlength=share.size)
    after = SamplerState(tuple(remainders.tolist()), tuple(cursors.tolist()))
    return Plan(source, position, epoch), after


def permuted(
    seed: int, source: ArrayLike, epoch: ArrayLike, i: ArrayLike, n: ArrayLike
) -> Integers:
    """Place of the i-th sequence in a random order of 0..n-1, without making the order.

    A Feistel network over Z_a x Z_b with a b just above n, walked until it lands below n (Black and
    Rogaway 2002), its round function a 64-bit mixer (Steele et al. 2014) keyed by
    (seed, source, epoch).

    Args:
        seed: of the run.
        source: index, broadcast against the rest.
        epoch: likewise.
        i: which of the order, 0 <= i < n.
        n: length of the order.

    Returns:
        Positions, a bijection of 0..n-1 for each key, int64 of the common shape (at least 1-d).
    """
    keys = _mixed(np.atleast_1d(np.uint64(seed % 2**64)) ^ _mixed(_word(Purpose.PERMUTATION)))
    keys = _mixed(_mixed(keys ^ _word(source)) ^ _word(epoch))
    keys, place, length = np.broadcast_arrays(keys, _word(i), _word(n))
    across = np.ceil(np.sqrt(length)).astype(np.uint64)
    down = -(-length.astype(np.int64) // across.astype(np.int64))
    down = down.astype(np.uint64)
    place = _feistel(place, across, down, keys)
    while (outside := place >= length).any():
        place[outside] = _feistel(place[outside], across[outside], down[outside], keys[outside])
    return place.astype(np.int64)


def _allocate(
    owed: NDArray[np.float64], share: NDArray[np.float64], rows: int
) -> tuple[Integers, NDArray[np.float64]]:
    """Sources of `rows` rows by largest error, and what each source is owed afterwards."""
    excluded = share <= 0
    lost = owed[excluded].sum()
    owed[excluded] = 0.0
    owed += lost * share
    chosen = np.empty(rows, dtype=np.int64)
    for row in range(rows):
        owed += share
        best = int(owed.argmax())
        owed[best] -= 1.0
        chosen[row] = best
    return chosen, owed


def _occurrence(values: Integers) -> Integers:
    """How often each value stood to its left."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.searchsorted(ordered, ordered)
    result = np.empty_like(values)
    result[order] = np.arange(values.size) - starts
    return result


def _feistel(place: Words, across: Words, down: Words, keys: Words) -> Words:
    left, right = place // down, place % down
    for number in range(ROUNDS):
        left = (left + _mixed(keys + right + np.uint64(2 * number)) % across) % across
        right = (right + _mixed(~keys + left + np.uint64(2 * number + 1)) % down) % down
    return left * down + right


def _mixed(words: Words) -> Words:
    """The finalizer of SplitMix64."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _word(values: ArrayLike) -> Words:
    return np.atleast_1d(np.asarray(values)).astype(np.uint64)
