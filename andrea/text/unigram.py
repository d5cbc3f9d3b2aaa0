"""A unigram language model over segments: best paths, re-estimation, pruning (Kudo 2018).

Every word is a lattice whose edges are the segments that match inside it, single bytes among them,
so that every word has a path. All words are walked at once, one letter further per step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.text.harris import BYTES, Floats, Ints, Substrings, Words, pack, substrings

LAST_ROUNDS = 2
RAREST = 1e-8


@dataclass(frozen=True)
class Lattice:
    """Edges of all words' lattices, sorted by the offset of their end inside the word.

    A word of n letters has n + 1 nodes; nodes are numbered through all words (P + W in all).

    Attributes:
        source: (E,) node where the edge leaves.
        target: (E,) node where it arrives.
        piece: (E,) the segment's number; 0..255 are the single bytes.
        layers: first edge of each offset, and E.
        last: (W,) last node of each word.
        weights: (W,) weight of each word.
    """

    source: Ints
    target: Ints
    piece: Ints
    layers: Ints
    last: Ints
    weights: Floats


def lattice(words: Words, at: Ints, length: Ints, piece: Ints) -> Lattice:
    """Build the lattice of matches `piece` of `length` letters at letter `at`; each (E,)."""
    source = at + words.word_of[at]
    target = source + length
    offset = at + length - words.starts[words.word_of[at]]
    order = np.lexsort((target, offset))
    offset = offset[order]
    return Lattice(
        source=source[order],
        target=target[order],
        piece=piece[order],
        layers=np.flatnonzero(np.diff(offset, prepend=-1, append=-1)),
        last=words.starts[1:] + np.arange(len(words.weights)),
        weights=words.weights,
    )


def matches(words: Words, found: list[Substrings], pieces: list[bytes]) -> tuple[Ints, Ints, Ints]:
    """Where the pieces occur: (letter, length, number), each (E,); `pieces[n]` gets 256 + n."""
    letters = words.letters.tobytes()
    number_of = {piece: BYTES + n for n, piece in enumerate(pieces)}
    parts = [(found[0].at, np.ones_like(found[0].at), found[0].id)]
    for length, level in enumerate(found[1:], start=2):
        example = np.empty(int(level.id.max()) + 1, dtype=np.int64)
        example[level.id] = level.at
        number = np.array(
            [number_of.get(letters[i : i + length], -1) for i in example], dtype=np.int64
        )[level.id]
        known = number >= 0
        parts.append((level.at[known], np.full(int(known.sum()), length), number[known]))
    at, length_at, piece = (np.concatenate(column) for column in zip(*parts, strict=True))
    return at, length_at, piece


def best_paths(paths: Lattice, scores: Floats) -> tuple[Floats, Ints]:
    """Viterbi: the best score of every node and the edge that reaches it.

    Args:
        scores: (n,) score of each piece; -inf forbids it.

    Returns:
        (P + W,) score of the best path from the word's start, and (P + W,) its last edge. Equal
        paths are told apart by the longer last edge, as in left-to-right search.
    """
    nodes = int(paths.last[-1]) + 1
    best = np.zeros(nodes)
    edge = np.full(nodes, -1, dtype=np.int64)
    gain = scores[paths.piece]
    for first, end in zip(paths.layers[:-1], paths.layers[1:], strict=True):
        target = paths.target[first:end]
        value = best[paths.source[first:end]] + gain[first:end]
        group = np.flatnonzero(np.diff(target, prepend=-1))
        top = np.maximum.reduceat(value, group)
        best[target[group]] = top
        wins = np.flatnonzero(value == np.repeat(top, np.diff(group, append=end - first)))[::-1]
        edge[target[wins]] = first + wins
    return best, edge


def usage(paths: Lattice, edge: Ints, pieces: int) -> Floats:
    """(pieces,) weight of each piece on the best paths of `best_paths`."""
    total = np.zeros(pieces)
    node, weight = paths.last, paths.weights
    while len(node):
        step = edge[node]
        inside = step >= 0
        step, weight = step[inside], weight[inside]
        total += np.bincount(paths.piece[step], weight, minlength=pieces)
        node = paths.source[step]
    return total


def fit(
    words: Words,
    found: list[Substrings],
    pieces: list[bytes],
    first: Floats,
    segments: int,
    piece_cost_nats: float,
    shrink: float,
) -> tuple[list[bytes], Floats]:
    """Prune candidate pieces to exactly `segments`, re-estimating on best paths in between.

    A piece's loss is what its occurrences would cost more if it were spelled by the others (Kudo
    2018, section 3.2); each round keeps the share `shrink` of the pieces with the greatest loss.

    Args:
        pieces: more than `segments` candidates of two bytes or more.
        first: (n,) their first weights.
        piece_cost_nats: added to the cost of every piece on a path: above 0, paths are shorter
            than the most probable ones.

    Returns:
        The segments that are left, by falling score, and (256 + segments,) scores in nats, first
        those of the single bytes.
    """
    numbers = len(pieces) + BYTES
    paths = lattice(words, *matches(words, found, pieces))
    spelled, order = _spellings(pieces)
    counts = np.concatenate(
        [np.bincount(found[0].id, words.weights[words.word_of], minlength=BYTES), first]
    )
    alive = np.ones(numbers, dtype=bool)
    counts = _reestimate(paths, counts, alive, piece_cost_nats)
    while (left := int(alive[BYTES:].sum())) > segments:
        scores = _scores(counts, alive, piece_cost_nats)
        without = best_paths(spelled, scores)[0][spelled.last]
        loss = np.full(numbers, -np.inf)
        there = alive[order]
        kept = order[there]
        loss[kept] = counts[kept] * (scores[kept] - without[there])
        best = np.argsort(-loss, kind="stable")[: max(segments, int(shrink * left))]
        alive[BYTES:] = False
        alive[best] = True
        counts = _reestimate(paths, counts, alive, piece_cost_nats)
    for _ in range(LAST_ROUNDS):
        counts = _reestimate(paths, counts, alive, piece_cost_nats)
    scores = _scores(counts, alive, piece_cost_nats)
    chosen = BYTES + np.flatnonzero(alive[BYTES:])
    chosen = chosen[np.argsort(-scores[chosen], kind="stable")]
    return [pieces[number - BYTES] for number in chosen], np.concatenate(
        [scores[:BYTES], scores[chosen]]
    )


def _spellings(pieces: list[bytes]) -> tuple[Lattice, Ints]:
    """Lattices of the pieces' own letters without the piece itself, and the pieces' numbers."""
    words = pack(dict.fromkeys(pieces, 1.0), longest=max(map(len, pieces)))
    number_of = {piece: BYTES + n for n, piece in enumerate(pieces)}
    at, length, piece = matches(words, substrings(words, max(map(len, pieces)), 0.0), pieces)
    shorter = length < np.diff(words.starts)[words.word_of[at]]
    order = np.array([number_of[piece] for piece in sorted(pieces)], dtype=np.int64)
    return lattice(words, at[shorter], length[shorter], piece[shorter]), order


def _scores(counts: Floats, alive: NDArray[np.bool_], piece_cost_nats: float) -> Floats:
    """Log of the share of all counts, less the cost of a piece; -inf for pieces that are gone.

    A piece without a count scores as if it were a hundred-millionth of the text.
    """
    smoothed = np.maximum(counts, RAREST * counts.sum())
    scores = np.log(smoothed / smoothed[alive].sum()) - piece_cost_nats
    return np.where(alive, scores, -np.inf)


def _reestimate(
    paths: Lattice, counts: Floats, alive: NDArray[np.bool_], piece_cost_nats: float
) -> Floats:
    edge = best_paths(paths, _scores(counts, alive, piece_cost_nats))[1]
    return usage(paths, edge, len(counts))
