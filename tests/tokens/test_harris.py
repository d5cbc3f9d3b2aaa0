from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andrea.tokens import harris

WORDS = st.dictionaries(st.binary(min_size=1, max_size=9), st.integers(1, 9), min_size=1)
LETTERS = st.dictionaries(st.text("ab", min_size=1, max_size=7), st.integers(1, 9), min_size=1)


def _pack(counts: dict[str, int]) -> harris.Words:
    return harris.pack({word.encode(): float(n) for word, n in counts.items()}, 32)


def _word(words: harris.Words, n: int) -> bytes:
    return words.letters[words.starts[n] : words.starts[n + 1]].tobytes()


@given(WORDS)
def test_packing_keeps_words_and_weights(counts: dict[bytes, int]) -> None:
    words = harris.pack({word: float(n) for word, n in counts.items()}, 9)
    unpacked = {_word(words, n): weight for n, weight in enumerate(words.weights)}
    assert unpacked == counts


def test_long_words_are_cut_and_parts_add_up() -> None:
    words = harris.pack({b"abcabcab": 2.0, b"ab": 1.0}, 3)
    unpacked = {_word(words, n): weight for n, weight in enumerate(words.weights)}
    assert unpacked == {b"abc": 4.0, b"ab": 3.0}


@given(LETTERS, st.integers(1, 20))
def test_substrings_are_those_that_a_plain_count_finds(counts: dict[str, int], least: int) -> None:
    plain: Counter[bytes] = Counter()
    for text, n in counts.items():
        word = text.encode()
        for first in range(len(word)):
            for end in range(first + 1, min(first + 4, len(word)) + 1):
                plain[word[first:end]] += n
    expected = {s: n for s, n in plain.items() if n >= least and len(s) > 1}
    words = _pack(counts)
    found: Counter[bytes] = Counter()
    for length, level in enumerate(harris.substrings(words, 4, least)[1:], start=2):
        names: dict[int, bytes] = {}
        for at, number in zip(level.at, level.id, strict=True):
            name = words.letters[at : at + length].tobytes()
            assert names.setdefault(int(number), name) == name
            found[name] += int(words.weights[words.word_of[at]])
        assert sorted(names) == list(range(len(names)))
    assert found == expected


@given(LETTERS)
def test_branching_entropy_is_that_of_the_continuations(counts: dict[str, int]) -> None:
    words = _pack(counts)
    entropy = harris.branching_entropy(words, words.weights)
    for n in range(len(words.weights)):
        word = _word(words, n).decode()
        for end in range(1, len(word) + 1):
            after: Counter[str] = Counter()
            for other, weight in counts.items():
                if other.startswith(word[:end]):
                    after[other[end : end + 1]] += weight
            total = sum(after.values())
            expected = -sum(m / total * math.log(m / total) for m in after.values())
            assert entropy[words.starts[n] + end - 1] == pytest.approx(expected, abs=1e-12)


def test_boundaries_fall_between_stem_and_ending() -> None:
    stems = ["walk", "talk", "jump", "play", "help"]
    counts = {stem + ending: 1 for stem in stems for ending in ("", "s", "ed", "ing")}
    words = _pack(counts)
    begins = harris.boundaries(words, words.weights)
    for n in range(len(words.weights)):
        word, marks = _word(words, n).decode(), begins[words.starts[n] : words.starts[n + 1]]
        stem = next(s for s in stems if word.startswith(s))
        assert marks[0]
        assert len(word) == len(stem) or marks[len(stem)]


@settings(max_examples=30)
@given(LETTERS)
def test_boundaries_of_reversed_words_are_mirrored(counts: dict[str, int]) -> None:
    forwards = _pack(counts)
    backwards = _pack({word[::-1]: n for word, n in counts.items()})
    marks = {
        _word(forwards, n): harris.boundaries(forwards, forwards.weights)[
            forwards.starts[n] : forwards.starts[n + 1]
        ]
        for n in range(len(counts))
    }
    begins = harris.boundaries(backwards, backwards.weights)
    for n in range(len(counts)):
        inner = begins[backwards.starts[n] + 1 : backwards.starts[n + 1]]
        np.testing.assert_array_equal(inner, marks[_word(backwards, n)[::-1]][1:][::-1])


@settings(max_examples=30)
@given(LETTERS, st.integers(1, 10))
def test_candidates_are_distinct_recurring_and_long_enough(
    counts: dict[str, int], keep: int
) -> None:
    words = _pack(counts)
    found = harris.substrings(words, 5, 2)
    pieces, weights = harris.candidates(words, found, 0.5, keep)
    assert len(pieces) == len(set(pieces)) == len(weights) <= keep
    assert all(2 <= len(piece) <= 5 for piece in pieces)
    total = {
        p: sum(
            n * sum(w[i:].startswith(p.decode()) for i in range(len(w))) for w, n in counts.items()
        )
        for p in pieces
    }
    assert all(0 < weight <= total[piece] for piece, weight in zip(pieces, weights, strict=True))
    scores = [len(piece) * weight for piece, weight in zip(pieces, weights, strict=True)]
    assert scores == sorted(scores, reverse=True)
