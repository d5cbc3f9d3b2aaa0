"""Which sequence stands in which row of a batch: exact shares, and a keyed order in each source.

All sequences have the same length, so a weight is a share of tokens and of sequences alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from andrea.common.seeds import Purpose

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

ROUNDS = 8
BLOCK = 256  # neighbours in an order that are looked up together


@dataclass(frozen=True)
class SamplerState:
    """Where the sampler stands."""

    remainders: tuple[float, ...]  # sequences each source is owed, (k,); they sum to 0
    cursors: tuple[int, ...]  # sequences each source has given, over all epochs, (k,)


@dataclass(frozen=True, eq=False)
class Plan:
    """The rows of one batch, in order."""

    source: Integers  # index of the source of each row, (rows,)
    position: Integers  # sequence inside the source, (rows,)
    epoch: Integers  # how often the source had been read in full before, (rows,)


def init(k: int) -> SamplerState:
    """The state of k untouched sources."""
    return SamplerState((0.0,) * k, (0,) * k)


def plan(
    state: SamplerState, weights: ArrayLike, rows: int, sizes: ArrayLike, seed: int
) -> tuple[Plan, SamplerState]:
    """Choose the sequences of one batch.

    Row by row, every source earns its weight, and of those that are owed something the one gives a
    sequence whose debt would reach a whole sequence first. What is owed is carried on. So realised
    sequences stay within one of the target in a phase that starts without debts; with debts carried
    through changes of weights within two. A source of weight 0 gives none and loses what it was
    owed to the others at once.

    Args:
        weights: (k,), sum 1.
        sizes: sequences in each source, (k,).

    Returns:
        The plan, and the state after it.

    Raises:
        ValueError: a source with weight holds no sequence.
    """
    share = np.asarray(weights, dtype=np.float64).tolist()
    size = np.asarray(sizes, dtype=np.int64).tolist()
    empty = [index for index, weight in enumerate(share) if weight > 0 and size[index] < 1]
    if empty:
        raise ValueError(f"no sequence to draw from sources {empty}")
    chosen, remainders = _allocate(state.remainders, share, rows)
    cursors = list(state.cursors)
    position, epoch = [], []
    for source in chosen:
        # A cursor never goes back: an epoch is read to its end before the next order begins.
        turn, offset = divmod(cursors[source], size[source])
        block, place = divmod(offset, BLOCK)
        position.append(_block(seed, source, turn, block, size[source])[place])
        epoch.append(turn)
        cursors[source] += 1
    columns = (np.array(column, dtype=np.int64) for column in (chosen, position, epoch))
    return Plan(*columns), SamplerState(tuple(remainders), tuple(cursors))


def permuted(seed: int, source: int, epoch: int, i: ArrayLike, n: int) -> Integers:
    """Place of the i-th sequence in a random order of 0..n-1, without making the order.

    A Feistel network over Z_a x Z_b with a b just above n, walked until it lands below n (Black and
    Rogaway 2002), its round function a 64-bit mixer (Steele et al. 2014) keyed by
    (seed, source, epoch).

    Args:
        seed: of the run, not negative.
        i: which of the order, 0 <= i < n, (m,).
        n: length of the order.

    Returns:
        Positions, (m,); over all i a bijection of 0..n-1.
    """
    key = np.zeros(1, dtype=np.uint64)
    for word in (seed, Purpose.PERMUTATION, source, epoch):
        key = _mixed(key ^ np.uint64(word % 2**64))
    across = math.isqrt(n - 1) + 1
    down = -(-n // across)
    place = _feistel(np.array(i, dtype=np.uint64, ndmin=1), across, down, key)
    # Places from n on are in the network's domain but not in ours. Walking on from them stays a
    # bijection, as each walk ends at the first place below n on its own cycle.
    while (outside := place >= n).any():
        place[outside] = _feistel(place[outside], across, down, key)
    return place.astype(np.int64)


@lru_cache(maxsize=256)
def _block(seed: int, source: int, epoch: int, block: int, n: int) -> list[int]:
    """Positions of one run of BLOCK neighbours in the order: a plan needs few at a time."""
    first = block * BLOCK
    places = permuted(seed, source, epoch, np.arange(first, min(first + BLOCK, n)), n)
    return places.tolist()  # type: ignore[no-any-return]


def _allocate(
    remainders: Sequence[float], share: Sequence[float], rows: int
) -> tuple[list[int], list[float]]:
    """Sources of `rows` rows, and what each source is owed afterwards.

    Largest error alone can leave a source owed more than one sequence, even at fixed weights.
    Serving the source whose debt would reach one first cannot (Still 1979; Tijdeman 1980), as long
    as only sources that are owed something are served. A source that carried more than one over
    from other weights goes first, the largest error before the others.
    """
    # What is owed to a source that may give none now is handed on at once: kept, it would be paid
    # back in one rush when the source returns, and the sum of the debts would not be 0 without it.
    lost = math.fsum(owed for owed, weight in zip(remainders, share, strict=True) if weight <= 0)
    owed = [
        debt + lost * weight if weight > 0 else 0.0
        for debt, weight in zip(remainders, share, strict=True)
    ]
    active = [(source, weight) for source, weight in enumerate(share) if weight > 0]
    chosen = []
    for _ in range(rows):
        best, soonest = -1, math.inf
        for source, weight in active:
            owed[source] = debt = owed[source] + weight
            # Rows until the debt reaches a whole sequence; below 0 it is overdue, by how much.
            due = (1 - debt) / weight if debt < 1 else 1 - debt
            if debt > 0 and due < soonest:
                best, soonest = source, due
        owed[best] -= 1
        chosen.append(best)
    return chosen, owed


def _feistel(place: Words, across: int, down: int, key: Words) -> Words:
    a, b = np.uint64(across), np.uint64(down)
    left, right = place // b, place % b
    for _ in range(ROUNDS):
        # Each half is moved by a function of the other alone, so every round can be undone: however
        # the words mix, no two places fall on one.
        key = _mixed(key)
        left = (left + _mixed(key ^ right)) % a
        key = _mixed(key)
        right = (right + _mixed(key ^ left)) % b
    return left * b + right


def _mixed(words: Words) -> Words:
    """The finalizer of SplitMix64."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
