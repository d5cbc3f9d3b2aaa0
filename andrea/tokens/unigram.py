"""A unigram language model over segments: expectation-maximisation and pruning (Kudo 2018).

Every word is a lattice whose edges are the segments that match inside it, single bytes among them,
so that every word has a path. All words are walked at once, one letter further per step.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from andrea.tokens.harris import Floats, Ints, Substrings, Words, pack, substrings
from andrea.tokens.tokenizer import BYTES

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


def matches(
    words: Words, recurring: list[Substrings], pieces: list[bytes]
) -> tuple[Ints, Ints, Ints]:
    """Where the pieces occur: (letter, length, number), each (E,); `pieces[n]` gets 256 + n."""
    letters = words.letters.tobytes()
    number_of = {piece: BYTES + n for n, piece in enumerate(pieces)}
    parts = [(recurring[0].at, np.ones_like(recurring[0].at), recurring[0].id)]
    for length, level in enumerate(recurring[1:], start=2):
        example = np.empty(int(level.id.max()) + 1, dtype=np.int64)
        example[level.id] = level.at
        number = np.array(
            [number_of.get(letters[i : i + length], -1) for i in example], dtype=np.int64
        )[level.id]
        known = number >= 0
        parts.append((level.at[known], np.full(int(known.sum()), length), number[known]))
    at, length_at, piece = (np.concatenate(column) for column in zip(*parts, strict=True))
    return at, length_at, piece


def forward(paths: Lattice, scores: Floats) -> Floats:
    """(P + W,) log of the summed exp-scores of all paths from the word's start to each node.

    Args:
        scores: (n,) score of each piece in nats; -inf forbids it.
    """
    log_sum = np.zeros(int(paths.last[-1]) + 1)
    gain = scores[paths.piece]
    # Edges of one layer end at the same offset of their words and all come from layers before it,
    # so that a layer is one vector operation; within it, edges into one node stand side by side.
    for first, end in pairwise(paths.layers):
        target = paths.target[first:end]
        value = log_sum[paths.source[first:end]] + gain[first:end]
        group = np.flatnonzero(np.diff(target, prepend=-1))
        # The greatest is taken out before the exponential, which would vanish for long words.
        top = np.maximum.reduceat(value, group)
        sizes = np.diff(group, append=end - first)
        rest = np.add.reduceat(np.exp(value - np.repeat(top, sizes)), group)
        log_sum[target[group]] = top + np.log(rest)
    return log_sum


def expected_counts(paths: Lattice, scores: Floats) -> Floats:
    """(n,) expected weight of each piece when a word's paths share its weight by probability.

    The weight of a node is handed down to the edges that reach it, from the words' ends to their
    starts, so that no backward sums are needed.
    """
    log_sum = forward(paths, scores)
    share = np.exp(log_sum[paths.source] + scores[paths.piece] - log_sum[paths.target])
    mass = np.zeros(len(log_sum))
    mass[paths.last] = paths.weights
    for first, end in reversed(list(pairwise(paths.layers))):
        share[first:end] *= mass[paths.target[first:end]]
        np.add.at(mass, paths.source[first:end], share[first:end])
    return np.bincount(paths.piece, share, minlength=len(scores)).astype(np.float64)


def fit(
    words: Words,
    recurring: list[Substrings],
    pieces: list[bytes],
    first: Floats,
    segments: int,
    piece_cost_nats: float,
    shrink: float,
) -> tuple[list[bytes], Floats]:
    """Prune candidate pieces to exactly `segments`, re-estimating in between.

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
    paths = lattice(words, *matches(words, recurring, pieces))
    spelled, order = _spellings(pieces)
    counts = np.concatenate(
        [np.bincount(recurring[0].id, words.weights[words.word_of], minlength=BYTES), first]
    )
    alive = np.ones(numbers, dtype=bool)
    counts = expected_counts(paths, _scores(counts, alive, piece_cost_nats))
    while (left := int(alive[BYTES:].sum())) > segments:
        # A piece that is dropped is spelled by others: its loss is counted on the sum over all
        # such paths, not on the best alone, as the counts are.
        scores = _scores(counts, alive, piece_cost_nats)
        without = forward(spelled, scores)[spelled.last]
        loss = np.full(numbers, -np.inf)
        there = alive[order]
        kept = order[there]
        loss[kept] = counts[kept] * (scores[kept] - without[there])
        # Losses hold only while most pieces stay, so few are dropped at a time. Single bytes
        # never are: without them some word would have no path.
        best = np.argsort(-loss, kind="stable")[: max(segments, int(shrink * left))]
        alive[BYTES:] = False
        alive[best] = True
        counts = expected_counts(paths, _scores(counts, alive, piece_cost_nats))
    # After the last cut the scores still are those of a larger alphabet.
    for _ in range(LAST_ROUNDS):
        counts = expected_counts(paths, _scores(counts, alive, piece_cost_nats))
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
