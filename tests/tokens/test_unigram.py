from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andrea.tokens import harris, unigram

PIECES = [b"ab", b"ba", b"aba", b"bb", b"abab"]
WORDS = st.dictionaries(st.text("ab", min_size=1, max_size=8), st.integers(1, 5), min_size=1)


def _pack(counts: dict[str, int]) -> harris.Words:
    return harris.pack({word.encode(): float(n) for word, n in counts.items()}, 16)


def _spellings(word: bytes) -> list[list[bytes]]:
    """Every way to spell a word in pieces and single bytes."""
    result = []
    for cuts in itertools.product([False, True], repeat=len(word) - 1):
        ends = [i + 1 for i, cut in enumerate(cuts) if cut] + [len(word)]
        parts = [word[first:end] for first, end in zip([0, *ends], ends, strict=False)]
        if all(len(part) == 1 or part in PIECES for part in parts):
            result.append(parts)
    return result


def _number(part: bytes) -> int:
    return part[0] if len(part) == 1 else 256 + PIECES.index(part)


@settings(max_examples=50)
@given(WORDS, st.integers(0, 2**32 - 1))
def test_sums_and_counts_are_those_over_all_spellings(counts: dict[str, int], seed: int) -> None:
    scores = -np.random.default_rng([seed]).uniform(1, 9, 256 + len(PIECES))
    words = _pack(counts)
    found = harris.substrings(words, 4, 0)
    paths = unigram.lattice(words, *unigram.matches(words, found, PIECES))
    log_sum = unigram.forward(paths, scores)
    expected = np.zeros(len(scores))
    for n, (word, weight) in enumerate(sorted((w.encode(), k) for w, k in counts.items())):
        spellings = _spellings(word)
        values = [np.exp(sum(scores[_number(part)] for part in parts)) for parts in spellings]
        assert np.exp(log_sum[paths.last[n]]) == pytest.approx(sum(values))
        for parts, value in zip(spellings, values, strict=True):
            for part in parts:
                expected[_number(part)] += weight * value / sum(values)
    np.testing.assert_allclose(unigram.expected_counts(paths, scores), expected, atol=1e-9)


def test_a_forbidden_piece_is_never_used() -> None:
    words = _pack({"abab": 3})
    found = harris.substrings(words, 4, 0)
    paths = unigram.lattice(words, *unigram.matches(words, found, PIECES))
    scores = np.full(256 + len(PIECES), -1.0)
    scores[256:] = -np.inf
    counts = unigram.expected_counts(paths, scores)
    assert counts[ord("a")] == counts[ord("b")] == pytest.approx(6)
    assert counts.sum() == pytest.approx(12)


@pytest.mark.parametrize("segments", [1, 3, 5])
def test_fit_leaves_exactly_as_many_segments_as_asked(segments: int) -> None:
    words = _pack({"ababab": 5, "abba": 3, "bab": 7})
    found = harris.substrings(words, 4, 0)
    chosen, scores = unigram.fit(words, found, PIECES, np.ones(5), segments, 0.0, 0.5)
    assert len(chosen) == len(set(chosen)) == segments
    assert set(chosen) <= set(PIECES)
    assert len(scores) == 256 + segments
    assert np.isfinite(scores).all()
    assert list(scores[256:]) == sorted(scores[256:], reverse=True)


def test_fit_keeps_what_saves_most() -> None:
    words = _pack({"xyxyxy": 100, "ab": 1, "ba": 1})
    found = harris.substrings(words, 2, 0)
    first = np.array([1.0, 300.0, 1.0])
    chosen, _ = unigram.fit(words, found, [b"ab", b"xy", b"ba"], first, 1, 1.0, 0.5)
    assert chosen == [b"xy"]


def test_a_cost_per_piece_makes_paths_shorter() -> None:
    rng = np.random.default_rng([1])
    words = _pack({"".join(rng.choice(list("ab"), 7)): int(rng.integers(1, 9)) for _ in range(40)})
    found = harris.substrings(words, 4, 0)
    paths = unigram.lattice(words, *unigram.matches(words, found, PIECES))
    tokens = []
    for cost in (0.0, 5.0):
        chosen, scores = unigram.fit(words, found, PIECES, np.ones(5), 5, cost, 0.5)
        by_number = np.concatenate([scores[:256], scores[[256 + chosen.index(p) for p in PIECES]]])
        tokens.append(unigram.expected_counts(paths, by_number).sum())
    assert tokens[1] < tokens[0]
