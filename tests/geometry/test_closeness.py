from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from andrea.geometry.vectors.measure.closeness import Closeness, closeness
from andrea.geometry.vectors.measure.embeddings import separation
from andrea.geometry.vectors.measure.relations import Entry, Pair

KINDS, EACH, WIDTH = 20, 6, 24


def word(number: int) -> str:
    return "w" + chr(97 + number // 26) + chr(97 + number % 26)


ENTRIES = [
    Entry(word(n), part, frozenset([part]), "?")
    for n in range(KINDS * (EACH + 1))
    for part in ["noun" if n % 2 else "verb"]
]
IDS = {f" {entry.word}": n for n, entry in enumerate(ENTRIES)}
# Word n of the rest is of kind n % KINDS, whose name is word n % KINDS; KINDS is even, so the two
# are of one part of speech.
PAIRS = [
    Pair(ENTRIES[n].word, ENTRIES[n % KINDS].word, ENTRIES[n].part, "genus")
    for n in range(KINDS, len(ENTRIES))
]
COUNTS = np.array([100 if n % 3 else 400 for n in range(len(ENTRIES))])


def encode(texts: Sequence[str]) -> list[np.ndarray]:
    return [np.array([IDS[text]], dtype=np.uint16) for text in texts]


def compare(table: np.ndarray, same_part: bool = False, seed: int = 1) -> Closeness:
    found = closeness(table, COUNTS, ENTRIES, PAIRS, encode, 1, same_part, seed)
    assert found is not None
    return found


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((len(ENTRIES), WIDTH))


def planted(seed: int) -> np.ndarray:
    """Words near the name of their kind."""
    table = noise(seed)
    return table + table[np.arange(len(table)) % KINDS]


def grammar(seed: int) -> np.ndarray:
    """Words near those of their part of speech, and not of their kind."""
    table = noise(seed)
    table[::2] += 2 * np.eye(WIDTH)[0]
    table[1::2] -= 2 * np.eye(WIDTH)[0]
    return table


def test_every_number_is_what_it_says() -> None:
    table = planted(1)
    found = compare(table, same_part=True)
    place = {entry.word: n for n, entry in enumerate(ENTRIES)}
    assert found.pairs == PAIRS and found.relatives == KINDS
    for row, (pair, stranger) in enumerate(zip(found.pairs, found.strangers, strict=True)):
        one, other, third = place[pair.word], place[pair.relative], place[stranger]
        pool = [
            n
            for n, entry in enumerate(ENTRIES)
            if COUNTS[n] == COUNTS[other] and entry.part == pair.part and n not in (one, other)
        ]
        assert third in pool
        assert found.related[row] == pytest.approx(separation(table[one], table[other]).cosine)
        assert found.strange[row] == pytest.approx(separation(table[one], table[third]).cosine)
        cosines = [separation(table[one], table[n]).cosine for n in pool]
        assert found.expected[row] == pytest.approx(np.mean(cosines))
    assert found.mean_related == pytest.approx(found.related.mean())
    assert found.mean_expected == pytest.approx(found.expected.mean())
    assert found.difference == pytest.approx(found.mean_related - found.mean_expected)
    assert found.low < found.difference < found.high


def test_what_is_planted_is_found() -> None:
    found = compare(planted(2), same_part=True)
    assert found.low > 0.4 and found.wins > 0.95


def test_grammar_alone_is_told_from_kinship() -> None:
    """Pairs beat any words of like frequency, and not those that share their part of speech."""
    table = grammar(3)
    assert compare(table).low > 0.05
    strict = compare(table, same_part=True)
    assert strict.low < 0 < strict.high


def test_the_interval_holds_nothing_where_there_is_nothing() -> None:
    """Of 40 tables of noise, 2 are expected to miss; more than 7 has a chance below 1 in 1,000."""
    found = [compare(noise(seed)) for seed in range(100, 140)]
    assert sum(not one.low <= 0 <= one.high for one in found) <= 7
    assert abs(np.mean([one.wins for one in found]) - 0.5) < 0.02


def test_the_interval_knows_that_pairs_share_relatives() -> None:
    """One relative's row decides over all its pairs, so that the interval is that of 20 values."""
    table = noise(4)
    table[:KINDS] = 3 * np.eye(WIDTH)[0] * np.random.default_rng(5).choice([-1, 1], (KINDS, 1))
    table[KINDS:, 0] += 3
    found = compare(table)
    naive = (found.related - found.expected).std() / np.sqrt(len(PAIRS))
    assert (found.high - found.low) / (2 * 1.96) > 1.5 * naive


def test_the_same_seed_gives_the_same_numbers() -> None:
    table = planted(6)
    one, again, other = compare(table, seed=3), compare(table, seed=3), compare(table, seed=4)
    assert one.strangers == again.strangers != other.strangers
    assert (one.low, one.high) == (again.low, again.high) != (other.low, other.high)
    assert one.difference == other.difference


def test_pairs_with_a_shared_token_or_too_many_tokens_are_left_out() -> None:
    def spelled(texts: Sequence[str]) -> list[np.ndarray]:
        longer = {" waa": [0, 141], " wab": [1, 21], f" {word(22)}": [22, 141]}
        return [np.array(longer.get(text, [IDS[text]]), dtype=np.uint16) for text in texts]

    table = np.random.default_rng(7).standard_normal((142, WIDTH))
    counts = np.full(142, 64)
    found = {
        most: closeness(table, counts, ENTRIES, PAIRS, spelled, most, False, 1) for most in (1, 2)
    }
    assert found[1] is not None and found[2] is not None
    assert found[1].pairs == [
        pair for pair in PAIRS if {pair.word, pair.relative}.isdisjoint(["waa", "wab", word(22)])
    ]
    # `wab` shares a token with word 21, one of its own kind; word 22's relative has one token.
    assert [pair for pair in PAIRS if pair not in found[2].pairs] == [
        Pair(word(21), "wab", "noun", "genus")
    ]
    row = found[2].pairs.index(Pair(word(22), word(2), "verb", "genus"))
    mean = (table[22] + table[141]) / 2
    assert found[2].related[row] == pytest.approx(separation(mean, table[2]).cosine)


def test_too_few_relatives_give_no_answer() -> None:
    few = [pair for pair in PAIRS if pair.relative in [word(n) for n in range(9)]]
    assert closeness(noise(1), COUNTS, ENTRIES, few, encode, 1, False, 1) is None
    assert closeness(noise(1), COUNTS, ENTRIES, [], encode, 1, False, 1) is None
