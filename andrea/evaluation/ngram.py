"""Interpolated n-gram models over tokens: counting, two smoothings, probabilities.

Tokens are those of documents one after another, each after its BOS. A context never reaches beyond
the BOS of its document; BOS itself is never predicted.

An n-gram is named by its row in the sorted table of its order, and its key is the row of its first
n - 1 tokens times V plus its last token: keys grow with the text, not with V to the n-th power.

Letters: N tokens, V vocabulary, G distinct n-grams of one order, C distinct contexts
of that order (the n-grams one order below; 1 for the unigrams).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Grams:
    """All n-grams of one order.

    Attributes:
        keys: context row * V + token, ascending, (G,).
        context: context row, (G,).
        contexts: how many rows there are one order below (C).
        counts: occurrences, (G,).
        continuations: distinct tokens seen on the left; for an n-gram that begins with BOS, which
            has none, its occurrences (G,). The highest order counted has its occurrences.
    """

    keys: Integers
    context: Integers
    contexts: int
    counts: Integers
    continuations: Integers


@dataclass(frozen=True)
class Interpolation:
    """One order of a model: p(w | h) = (kept[hw] + spare[h] * p(w | shorter h)) / total[h].

    Attributes:
        kept: counts less what is taken off them, (G,); n-grams that never occurred have 0.
        spare: (C,); 0 < spare where total > 0.
        total: (C,); 0 for a context after which nothing occurred.
    """

    kept: Floats
    spare: Floats
    total: Floats


def count(tokens: NDArray[np.integer], vocabulary: int, bos: int, order: int) -> list[Grams]:
    """Count the n-grams of every order up to `order`.

    One sort an order: time O(order * N log N), about 100 bytes a token at the peak.

    Args:
        tokens: (N,), below the vocabulary V; `bos` begins each document.
        order: tokens in the longest n-gram, at least 1.

    Raises:
        ValueError: a token is outside the vocabulary, or the first is not BOS.
    """
    tokens = _checked(tokens, vocabulary, bos)
    predicted = tokens != bos
    tables: list[Grams] = []
    counts = np.bincount(tokens[predicted], minlength=vocabulary)
    keys, context, contexts = np.arange(vocabulary), np.zeros(vocabulary, np.int64), 1
    rows = tokens
    for _ in range(order - 1):
        # Two numbers tell a longer n-gram, whatever its order: the row of what ends one token
        # before it, and its last token. Where nothing ends (-1), it would reach beyond BOS.
        before = _shifted(rows)
        places = np.flatnonzero(predicted & (before >= 0))
        longer, first, row_of_place = _distinct(before[places] * vocabulary + tokens[places])
        # Each different longer n-gram is one different token to the left of its last n - 1.
        on_the_left = np.bincount(rows[places[first]], minlength=len(keys))
        continuations = np.where(on_the_left > 0, on_the_left, counts)
        tables.append(Grams(keys, context, contexts, counts, continuations))
        keys, context, contexts = longer, longer // vocabulary, len(keys)
        counts = np.bincount(row_of_place, minlength=len(keys))
        rows = np.full(len(tokens), -1)
        rows[places] = row_of_place
    return [*tables, Grams(keys, context, contexts, counts, counts)]


def witten_bell(tables: Sequence[Grams]) -> list[Interpolation]:
    """Give the next order the weight of the context's distinct tokens.

    Method C of Witten & Bell 1991 in interpolated form (Chen & Goodman 1999).
    """
    levels = []
    for grams in tables:
        kept = grams.counts.astype(np.float64)
        spare = _per_context(grams, grams.counts > 0)
        levels.append(Interpolation(kept, spare, _per_context(grams, kept) + spare))
    return levels


def kneser_ney(tables: Sequence[Grams]) -> list[Interpolation]:
    """Interpolated modified Kneser-Ney with three discounts an order.

    The highest order discounts occurrences, the lower ones distinct left neighbours (Chen &
    Goodman 1999; Kneser & Ney 1995). n-grams at the start of a document have no left
    neighbour and keep their occurrences (Heafield et al. 2013).
    """
    *lower, highest = tables
    counts = [grams.continuations for grams in lower] + [highest.counts]
    return [_discounted(grams, own) for grams, own in zip(tables, counts, strict=True)]


@dataclass(frozen=True)
class Places:
    """Where n-grams and their contexts stand in the tables; -1 where they do not.

    Attributes:
        predicted: positions of tokens that are not BOS, (P,).
        grams: row of the n-gram that ends at each predicted position, one (P,) an order.
        contexts: row of that n-gram's context, one (P,) an order.
    """

    predicted: Integers
    grams: list[Integers]
    contexts: list[Integers]


def locate(
    tokens: NDArray[np.integer], tables: Sequence[Grams], vocabulary: int, bos: int
) -> Places:
    """Look up every n-gram of some tokens, once for all models over these tables.

    Raises:
        ValueError: a token is outside the vocabulary, or the first is not BOS.
    """
    tokens = _checked(tokens, vocabulary, bos)
    places = np.flatnonzero(tokens != bos)
    grams, contexts = [], []
    rows, before = tokens, np.zeros(len(tokens), np.int64)
    for number, table in enumerate(tables):
        if number > 0:
            before = _shifted(rows)
            rows = np.full(len(tokens), -1)
            rows[places] = _find(table.keys, before[places] * vocabulary + tokens[places])
        grams.append(rows[places])
        contexts.append(before[places])
    return Places(places, grams, contexts)


def probabilities(levels: Sequence[Interpolation], places: Places, vocabulary: int) -> Floats:
    """Probability of each token after its own document's last `len(levels) - 1` tokens.

    The recursion starts from the uniform distribution over the V - 1 tokens that can be predicted;
    a context that the training text does not have passes the shorter one's probability on.

    Returns:
        Probabilities at `places.predicted`, (P,); over the V - 1 tokens they sum to one.
    """
    result = np.full(len(places.predicted), 1.0 / (vocabulary - 1))
    for level, grams, contexts in zip(levels, places.grams, places.contexts, strict=False):
        # From the shortest order up: where a context is unknown, the shorter one's result stays.
        known = np.flatnonzero(contexts >= 0)
        known = known[level.total[contexts[known]] > 0]
        context, gram = contexts[known], grams[known]
        kept = np.zeros(len(known))
        kept[gram >= 0] = level.kept[gram[gram >= 0]]
        result[known] = (kept + level.spare[context] * result[known]) / level.total[context]
    return result


def _checked(tokens: NDArray[np.integer], vocabulary: int, bos: int) -> Integers:
    if len(tokens) and (tokens[0] != bos or tokens.min() < 0 or tokens.max() >= vocabulary):
        raise ValueError(
            f"a text begins with BOS ({bos}) and has tokens from 0 to {vocabulary - 1}; "
            f"this one begins with {tokens[0]} and has {tokens.min()} to {tokens.max()}"
        )
    return tokens.astype(np.int64)


def _shifted(rows: Integers) -> Integers:
    """Row of the n-gram that ends one position before."""
    return np.concatenate((np.full(min(1, len(rows)), -1), rows[:-1]))


def _distinct(keys: Integers) -> tuple[Integers, Integers, Integers]:
    """Distinct keys ascending, the first position of each, and each position's row."""
    ordered, positions = _sorted(keys)
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    rows = np.empty(len(keys), np.int64)
    rows[positions] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(keys)))
    return ordered[starts], positions[starts], rows


def _sorted(keys: Integers) -> tuple[Integers, Integers]:
    """Keys ascending and their positions, equal keys by position.

    numpy sorts values six times faster than it sorts positions, so key and position share one
    word while 63 bits suffice.
    """
    bits = len(keys).bit_length()
    if int(keys.max(initial=0)).bit_length() + bits > 63:
        positions = np.argsort(keys, kind="stable")
        return keys[positions], positions
    words = (keys << bits) | np.arange(len(keys))
    words.sort()
    return words >> bits, words & ((1 << bits) - 1)


def _find(keys: Integers, wanted: Integers) -> Integers:
    """Row of each wanted key, -1 where it is absent."""
    rows = np.searchsorted(keys, wanted)
    there = rows < len(keys)
    there[there] = keys[rows[there]] == wanted[there]
    return np.where(there, rows, -1)


def _per_context(grams: Grams, weights: NDArray[np.generic]) -> Floats:
    sums = np.bincount(grams.context, weights=weights, minlength=grams.contexts)
    return sums.astype(np.float64)


def _discounted(grams: Grams, counts: Integers) -> Interpolation:
    discount = _discounts(counts)[np.minimum(counts, 3)]
    return Interpolation(
        counts - discount, _per_context(grams, discount), _per_context(grams, counts)
    )


def _discounts(counts: Integers) -> Floats:
    """Discounts of n-grams counted 0, 1, 2, 3 or more times (Chen & Goodman 1999).

    Small or odd tables can put the estimate of a higher count below that of a lower one, or below
    0; it is then raised to the lower one's, which keeps every context's spare weight positive.
    """
    of = np.bincount(np.minimum(counts, 5), minlength=6).astype(np.float64)
    share = of[1] / max(of[1] + 2 * of[2], 1)
    estimates = [0.0] + [n - (n + 1) * share * of[n + 1] / max(of[n], 1) for n in (1, 2, 3)]
    return np.maximum.accumulate(np.array(estimates))
