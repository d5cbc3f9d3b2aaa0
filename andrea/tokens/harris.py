"""Harris segmentation: a vocabulary of segments that recur between morpheme boundaries.

Inside a word, the uncertainty of the next letter given the letters so far jumps where a morpheme
ends (successor variety, Zellig Harris 1955; branching entropy, Tanaka-Ishii 2005; both directions,
Hafer & Weiss 1974). Substrings that recur between such jumps are the candidates; a unigram language
model over them (Viterbi re-estimation and pruning, Kudo 2018) keeps as many as were asked for.

All work is on word types, flattened into one array of letters (P letters, W words), so memory is
that of the word counts and no step loops over words in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.tokens.tokenizer import BYTES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDING = 1e-9


@dataclass(frozen=True)
class Words:
    """Word types as one array of letters.

    Attributes:
        letters: (P,) bytes of all words, one after another.
        starts: (W + 1,) first letter of each word, and P.
        weights: (W,) how often each word occurs.
    """

    letters: NDArray[np.uint8]
    starts: Ints
    weights: Floats

    @property
    def word_of(self) -> Ints:
        """(P,) the word of each letter."""
        return np.repeat(np.arange(len(self.weights)), np.diff(self.starts))


def pack(counts: Mapping[bytes, float], longest: int) -> Words:
    """Flatten word counts; words of more than `longest` bytes are cut into parts of that length."""
    parts: dict[bytes, float] = {}
    for word, weight in counts.items():
        for first in range(0, len(word), longest):
            part = word[first : first + longest]
            parts[part] = parts.get(part, 0.0) + weight
    order = sorted(parts)
    lengths = np.array([len(word) for word in order], dtype=np.int64)
    return Words(
        letters=np.frombuffer(b"".join(order), dtype=np.uint8),
        starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        weights=np.array([parts[word] for word in order], dtype=np.float64),
    )


@dataclass(frozen=True)
class Substrings:
    """All recurring substrings of one length: `at` (M,) first letters, `id` (M,) 0..n-1."""

    at: Ints
    id: Ints


def substrings(words: Words, longest: int, least_weight: float) -> list[Substrings]:
    """Occurrences of the substrings of length 1..longest that weigh at least `least_weight`.

    A substring of length l is numbered by (number of its first l - 1 letters, last letter): exact,
    no hashing. Substrings below the weight are dropped, and with them all their extensions.
    """
    ends = np.repeat(words.starts[1:], np.diff(words.starts))
    weight_at = words.weights[words.word_of]
    at = np.arange(len(words.letters), dtype=np.int64)
    number = words.letters.astype(np.int64)
    recurring = [Substrings(at, number)]
    for length in range(2, longest + 1):
        # What is longer by a letter is at most as heavy: whatever was dropped at a shorter length
        # need not be looked at again, and few positions are left after some rounds.
        inside = at + length <= ends[at]
        at, number = at[inside], number[inside]
        key = number * BYTES + words.letters[at + length - 1]
        _, number = np.unique(key, return_inverse=True)
        heavy = (np.bincount(number, weight_at[at]) >= least_weight)[number]
        at, number = at[heavy], number[heavy]
        if len(at) == 0:
            break
        _, number = np.unique(number, return_inverse=True)
        recurring.append(Substrings(at, number.astype(np.int64)))
    return recurring


def branching_entropy(words: Words, weights: Floats) -> Floats:
    """Entropy in nats of the next letter (or the word's end) after each prefix.

    Returns:
        (P,) at letter i: the entropy of what follows the prefix that ends with letter i, where the
        word types have (W,) `weights`.
    """
    lengths = np.diff(words.starts)
    entropy = np.zeros(len(words.letters))
    # The trie is walked a depth at a time, for all words at once: `node` numbers the prefix that
    # each word has there, and words of one prefix share one number.
    node = np.zeros(len(weights), dtype=np.int64)
    alive = np.arange(len(weights))
    for depth in range(int(lengths.max())):
        alive = alive[lengths[alive] > depth]
        letter = words.letters[words.starts[alive] + depth].astype(np.int64)
        _, child = np.unique(node[alive] * BYTES + letter, return_inverse=True)
        node[alive] = child
        has_next = lengths[alive] > depth + 1
        # The end of a word is one more letter: before it a whole word is as uncertain as a stem.
        following = np.full(len(alive), BYTES, dtype=np.int64)
        following[has_next] = words.letters[words.starts[alive[has_next]] + depth + 1]
        branches, branch = np.unique(child * (BYTES + 1) + following, return_inverse=True)
        mass = np.bincount(branch, weights[alive])
        parent = branches // (BYTES + 1)
        total = np.bincount(parent, mass)
        share = mass / total[parent]
        at_node = np.bincount(parent, -share * np.log(share))
        entropy[words.starts[alive] + depth] = at_node[child]
    return entropy


def boundaries(words: Words, weights: Floats) -> NDArray[np.bool_]:
    """Where a morpheme may begin: branching entropy rises, read forwards or backwards.

    Returns:
        (P,) True where a boundary lies before the letter; the start of a word is one.
    """
    # Read forwards a rise shows the end of a stem, read backwards the start of a suffix; either
    # alone misses what the other sees, so one of them is enough.
    backwards = Words(
        words.letters[::-1], len(words.letters) - words.starts[::-1], words.weights[::-1]
    )
    # Backwards, a rise after a letter means a boundary before it; forwards, one after it.
    begins = _rises(backwards, weights[::-1])[::-1]
    begins[1:] |= _rises(words, weights)[:-1]
    begins[words.starts[:-1]] = True
    return begins


def _rises(words: Words, weights: Floats) -> NDArray[np.bool_]:
    """(P,) True where the entropy after a letter exceeds that after the letter before it."""
    entropy = branching_entropy(words, weights)
    rises = np.zeros(len(entropy), dtype=bool)
    rises[1:] = entropy[1:] > entropy[:-1] + ROUNDING
    rises[words.starts[:-1]] = False
    return rises


def candidates(
    words: Words, recurring: list[Substrings], damping: float, keep: int
) -> tuple[list[bytes], Floats]:
    """The `keep` substrings of two bytes or more that cover most between boundaries.

    A substring's score is its weight where it stands between two boundaries, times its length.
    Ties go to the shorter, then to the one that comes first in the sorted words.

    Args:
        damping: exponent of a word's weight in the tries; 0 counts types, 1 counts tokens.

    Returns:
        The substrings by falling score, and (n,) their weights between boundaries.
    """
    begins = boundaries(words, words.weights**damping)
    # The tries weigh a word by a small power of its count, for else the few most frequent words
    # would decide where morphemes end; what a candidate is worth is counted in full again.
    ends = np.ones(len(begins), dtype=bool)
    ends[:-1] = begins[1:]
    weight_at = words.weights[words.word_of]
    at_parts, weight_parts = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    length_parts = [np.empty(0, dtype=np.int64)]
    for length, level in enumerate(recurring[1:], start=2):
        between = begins[level.at] & ends[level.at + length - 1]
        weight = np.bincount(level.id, weight_at[level.at] * between).astype(np.float64)
        example = np.empty(len(weight), dtype=np.int64)
        example[level.id[::-1]] = level.at[::-1]
        recurs = weight > 0
        at_parts.append(example[recurs])
        weight_parts.append(weight[recurs])
        length_parts.append(np.full(int(recurs.sum()), length))
    at, weight = np.concatenate(at_parts), np.concatenate(weight_parts)
    lengths = np.concatenate(length_parts)
    best = np.argsort(-weight * lengths, kind="stable")[:keep]
    letters = words.letters.tobytes()
    return [letters[at[i] : at[i] + lengths[i]] for i in best], weight[best]
