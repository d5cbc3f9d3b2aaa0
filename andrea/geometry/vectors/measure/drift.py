"""How the token table moved: token by token, and as one body.

Letters: V tokens, d width, p tables (the initial one and one per regime), b bins of frequency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise

import numpy as np
from numpy.typing import NDArray

from andrea.geometry.vectors.measure.embeddings import unit
from andrea.geometry.vectors.measure.frequency import Bins

Floats = NDArray[np.float64]

QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Movement:
    """How far each token is from where it began, and how far each regime took it.

    Look at the bin of tokens that never occur, which no gradient reaches: a regime leaves them
    exactly where they were. Only bigram init moves them, as it empties the features that tell the
    position, and that counts in the first regime. A token whose cosine with its initial place is
    near 0 has forgotten it.
    """

    from_start: Floats  # distance of each token from its row in the first table, (p - 1, V)
    in_regime: Floats  # distance from its row in the table before, (p - 1, V)
    cosine: Floats  # with its row in the first table, (p - 1, V)
    # Of the tokens of each bin, (p - 1, b, 3).
    from_start_quartiles: Floats
    in_regime_quartiles: Floats
    cosine_quartiles: Floats


@dataclass(frozen=True)
class Similarity:
    """Linear CKA of every two tables, and what unrelated tables would have.

    1 means the same geometry up to rotation and scale. Values near `chance` mean that knowing one
    table says nothing about the other; chance is not 0, and it grows with d / V.
    """

    cka: Floats  # (p, p) (Kornblith et al. 2019)
    # Its mean over all ways to shuffle the rows of one of the two tables, (p, p), exact (Josse,
    # Pages & Husson 2008).
    chance: Floats


@dataclass(frozen=True)
class Drift:
    """What of a movement is left after the best rotation (Schonemann 1966; Hamilton et al. 2016).

    A rotation about the origin changes no distance and no cosine, so only `rotated_off` is change
    of meaning. Where it is well below `apart`, the table turned as one body.
    """

    apart: float  # length of the difference of the tables over that of the first
    rotated_off: float  # the same after the rotation of the first that brings it nearest
    distance: Floats  # what is left of each token's movement, in the table's units, (V,)


def movement(tables: Sequence[NDArray[np.floating]], bins: Bins) -> Movement:
    """Distances and cosines of each token, over the tables in the order of training.

    Args:
        tables: initial first, (V, d) each, at least two.
        bins: of the V tokens, the same for all regimes.
    """
    wide = [table.astype(np.float64) for table in tables]
    start = unit(wide[0])
    from_start = np.stack([np.linalg.norm(table - wide[0], axis=1) for table in wide[1:]])
    in_regime = np.stack([np.linalg.norm(b - a, axis=1) for a, b in pairwise(wide)])
    cosine = np.stack([(unit(table) * start).sum(axis=1) for table in wide[1:]])
    found = (from_start, in_regime, cosine)
    return Movement(*found, *(_quartiles(values, bins) for values in found))


def similarity(tables: Sequence[NDArray[np.floating]]) -> Similarity:
    """Linear CKA between tables of the same tokens.

    Args:
        tables: (V, d) each, rows of one table not all equal.
    """
    centred = [table.astype(np.float64) - table.mean(axis=0, dtype=float) for table in tables]
    cross = np.zeros((len(centred), len(centred)))
    for i, j in combinations_with_replacement(range(len(centred)), 2):
        cross[i, j] = cross[j, i] = np.linalg.norm(centred[i].T @ centred[j]) ** 2
    own = np.sqrt(np.diag(cross))
    traces = np.array([(table**2).sum() for table in centred])
    scale = np.outer(own, own)
    return Similarity(cross / scale, np.outer(traces, traces) / (len(centred[0]) - 1) / scale)


def drift(before: NDArray[np.floating], after: NDArray[np.floating]) -> Drift:
    """How far a table moved, without and with the best rotation taken out.

    Args:
        before: (V, d), not zero.
        after: (V, d).
    """
    first, last = before.astype(np.float64), after.astype(np.float64)
    left, _, right = np.linalg.svd(first.T @ last)
    distance = np.linalg.norm(last - first @ (left @ right), axis=1)
    length = np.linalg.norm(first)
    return Drift(
        float(np.linalg.norm(last - first) / length),
        float(np.linalg.norm(distance) / length),
        distance,
    )


def _quartiles(values_pV: Floats, bins: Bins) -> Floats:
    numbers = range(len(bins.lowest))
    inside = [values_pV[:, bins.member == number] for number in numbers]
    return np.stack([np.quantile(values, QUARTILES, axis=1).T for values in inside], axis=1)
