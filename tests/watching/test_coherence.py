from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andrea.common import paths
from andrea.corpus.formats import documents
from andrea.watching.coherence import (
    DEGENERATE,
    Loop,
    broken,
    degenerate,
    distinct,
    loop,
    phrases,
    score,
)

RAW = Path(__file__).parents[2] / paths.RAW
quick = settings(derandomize=True, max_examples=100, deadline=None, database=None)

COLLAPSED = [
    "region region region region region region region",
    "''''' ''''' '' ''' '' ''' '''?' ''' ' '' '' '",
    "games, games, games, games, games, games",
    "Budy Budy Budy Budy Budy Budy Budy Budy Budy",
]
SENTENCE = (
    "The old harbour lay quiet that morning, and nobody on the quay had seen the boats leave; "
    "a dog barked twice, somewhere behind the customs house, then the fog closed over it all."
)
SOUND = [
    SENTENCE,
    SENTENCE[:45],
    "> define ironical\n< ironical is an adjective: humorously sarcastic or mocking.",
    "[21:15] <cleo> Im not\n[21:53] <fern> Haha\n[21:54] <wren> who said it was easy",
    "Старая гавань молчала в то утро, и никто на причале не видел, как ушли лодки.",
    "その朝、古い港は静かで、桟橋にいた誰も船が出ていくのを見ていなかった。犬が二度ほえた。",
    "كان الميناء القديم هادئا ذلك الصباح، ولم ير أحد على الرصيف رحيل القوارب.",
]
anything = st.text(st.characters(codec=None), max_size=60)
few_letters = st.text("ab \n", max_size=24)


def repeat(phrase: str, characters: int) -> str:
    """A phrase over and over, cut at a length."""
    return (phrase * (characters // len(phrase) + 1))[:characters]


@pytest.mark.parametrize("text", COLLAPSED)
def test_each_sample_of_the_collapsed_model_is_degenerate(text: str) -> None:
    assert score(text) > 0.75


@pytest.mark.parametrize("text", SOUND)
def test_sound_text_is_not_degenerate_in_any_script(text: str) -> None:
    assert not degenerate(text)
    assert degenerate(repeat(text, 3 * len(text)))


@quick
@given(st.text(min_size=1, max_size=60), st.integers(3, 12), st.integers(0, 60))
def test_any_phrase_said_three_times_is_degenerate(phrase: str, times: int, more: int) -> None:
    size = max(times * len(phrase) + more % len(phrase), 40)
    assert degenerate(repeat(phrase, size))


@pytest.mark.parametrize("characters", [40, 64, 150, 250, 1000])
@pytest.mark.parametrize(
    "phrase", ["the ", "> ", "\n", " ", "-", "\x00", "\ufffd", "ab", "= = ", "\n\n> ", "haha "]
)
def test_floods_are_degenerate(phrase: str, characters: int) -> None:
    assert score(repeat(phrase, characters)) > 0.8


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "\t \u3000 \u00a0", "\ufffd\ufffd\ufffd"])
def test_nothing_is_degenerate_at_any_length(text: str) -> None:
    assert score(text) == 1


@pytest.mark.parametrize("period", [1, 5, 12, 60])
def test_a_text_that_falls_into_a_loop_half_way_is_degenerate(period: int) -> None:
    head = SENTENCE[:120]
    assert not degenerate(head)
    assert degenerate(head + repeat(head[-period:], 130))


def test_the_score_grows_with_the_share_that_loops() -> None:
    texts = [SENTENCE[:kept] + repeat(" the", 160 - kept) for kept in range(160, -1, -20)]
    found = [score(text) for text in texts]
    assert found == sorted(found)
    assert found[0] < DEGENERATE < found[-1]


@quick
@given(st.integers(0, 2**32 - 1), st.integers(100, 400))
def test_three_words_in_any_order_are_degenerate(seed: int, size: int) -> None:
    drawn = np.random.default_rng(seed).choice(["games", "the", "Budy,"], size)
    assert degenerate(" ".join(drawn)[:size])


@quick
@given(st.integers(0, 2**32 - 1), st.integers(40, 400))
def test_random_bytes_are_degenerate(seed: int, size: int) -> None:
    text = np.random.default_rng(seed).bytes(size).decode(errors="replace")
    assert degenerate(text)


@quick
@given(st.integers(0, 2**32 - 1), st.integers(40, 400))
def test_a_soup_of_letters_is_not_for_it_never_repeats(seed: int, size: int) -> None:
    drawn = np.random.default_rng(seed).choice([*"abcdefghijklmnopqrstuvwxyz  "], size)
    assert not degenerate("".join(drawn))


def test_one_broken_character_is_forgiven() -> None:
    assert not degenerate(SENTENCE[:80] + "\ufffd" + SENTENCE[80:])


@quick
@given(anything)
def test_every_text_has_a_score_in_range(text: str) -> None:
    assert 0 <= score(text) <= 1
    assert score(text) == score(text)
    assert 0 <= broken(text) <= 1
    assert 0 <= loop(text).characters <= len(text)


@quick
@given(few_letters)
def test_loop_is_the_longest_by_brute_force(text: str) -> None:
    best = Loop(0, 0)
    for period in range(1, len(text) // 2 + 1):
        for start in range(len(text) - period):
            run = 0
            while (
                start + period + run < len(text) and text[start + run] == text[start + period + run]
            ):
                run += 1
            if run >= period and run > best.characters:
                best = Loop(run, period)
    assert loop(text) == best


def test_loop_is_the_same_in_blocks_of_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    text = SENTENCE + repeat(SENTENCE[:37], 90)
    whole = loop(text)
    assert whole == Loop(90 - 37, 37)
    monkeypatch.setattr("andrea.watching.coherence.MATRIX_CELLS", 700)
    assert loop(text) == whole


def parsed(text: str) -> list[str]:
    """Phrases by their definition."""
    found, start = [], 0
    while start < len(text):
        size = 1
        while start + size < len(text) and any(
            text[begin : begin + size] == text[start : start + size] for begin in range(start)
        ):
            size += 1
        found.append(text[start : start + size])
        start += size
    return found


@quick
@given(few_letters)
def test_phrases_by_their_definition(text: str) -> None:
    assert phrases(text) == len(parsed(text))


def test_phrases_of_the_example_of_lempel_and_ziv() -> None:
    assert parsed("0001101001000101") == ["0", "001", "10", "100", "1000", "101"]
    assert phrases("0001101001000101") == 6
    assert phrases("a" * 50) == 2


def test_distinct_of_a_text_shorter_than_the_order_is_one() -> None:
    assert distinct(["a", "a"], 3) == 1
    assert distinct(["a", "a", "a"], 2) == 1 / 2


@pytest.mark.parametrize("length_bytes", [40, 100, 250])
def test_fewer_than_one_in_a_hundred_human_passages_are_degenerate(length_bytes: int) -> None:
    """On the documents that took no part in the calibration, all sources counting the same."""
    rates = []
    for file in sorted(RAW.glob("*/eval.jsonl.gz")):
        text = "\n".join(list(documents.read(file))[1::2]).encode()
        starts = range(0, len(text) - length_bytes, max(length_bytes, len(text) // 120))
        cut = [text[start : start + length_bytes].decode(errors="ignore") for start in starts]
        rates.append(float(np.mean([degenerate(passage) for passage in cut])))
    assert len(rates) >= 16
    assert np.mean(rates) < 0.01


def test_a_sample_is_scored_in_two_milliseconds() -> None:
    text = (SENTENCE * 2)[:250]
    took = []
    for _ in range(20):
        since = time.perf_counter()
        score(text)
        took.append(time.perf_counter() - since)
    assert min(took) < 2e-3
