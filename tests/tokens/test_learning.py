from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.errors import UserError
from andrea.config.text import Tokenizer as Settings
from andrea.tokens import learning


@given(st.text())
def test_words_cover_the_text(text: str) -> None:
    assert "".join(learning.WORD.findall(text)) == text


def test_each_source_gets_its_share_of_the_bytes() -> None:
    counts = {
        "small": learning.count(["ab ab"]),
        "large": learning.count([" cd" * 1000]),
        "unused": learning.count(["ef"]),
    }
    mixed = learning.mix(counts, {"small": 3, "large": 1})
    share = {word: len(word) * weight for word, weight in mixed.items()}
    total = sum(share.values())
    assert total == pytest.approx(3005)
    assert (share[b"ab"] + share[b" ab"]) / total == pytest.approx(0.75)
    assert b"ef" not in mixed


def test_weights_are_checked() -> None:
    counts = {"one": learning.count(["text"])}
    with pytest.raises(UserError, match=r"tokenizer\.weights\.two: no such source, known are one"):
        learning.mix(counts, {"two": 1.0})
    with pytest.raises(UserError, match=r"tokenizer\.weights: no source with text"):
        learning.mix(counts, {"one": 0.0})


def test_stems_and_endings_become_segments(
    corpus: Callable[[int, int], list[str]], settings: Settings
) -> None:
    words = learning.mix({"one": learning.count(corpus(200, 0))}, {"one": 1.0})
    segments = learning.learn(words, 45, settings).segments
    assert {b" walk", b" jump", b" dream", b"ing", b"er"} <= set(segments)


@pytest.mark.parametrize("segments", [1, 20, 60])
def test_exactly_the_segments_asked_for_each_of_two_bytes(
    corpus: Callable[[int, int], list[str]], settings: Settings, segments: int
) -> None:
    words = learning.mix({"one": learning.count(corpus(100, 1))}, {"one": 1.0})
    alphabet = learning.learn(words, segments, settings)
    assert len(set(alphabet.segments)) == segments
    assert min(map(len, alphabet.segments)) >= 2
    again = learning.learn(dict(reversed(words.items())), segments, settings)
    assert again.segments == alphabet.segments
    assert again.scores.tobytes() == alphabet.scores.tobytes()


@pytest.mark.parametrize("text", ["", "ab", "a" * 100_000])
def test_too_little_text_is_refused(text: str, settings: Settings) -> None:
    words = {word: float(n) for word, n in learning.count([text, "x"]).words.items()}
    with pytest.raises(UserError, match=r"scale\.segments: 500 asked for, but"):
        learning.learn(words, 500, settings)


def test_one_repeated_character_disturbs_nothing(
    corpus: Callable[[int, int], list[str]], settings: Settings
) -> None:
    words = learning.mix({"one": learning.count(["a" * 100_000, *corpus(100, 0)])}, {"one": 1.0})
    assert b"ing" in learning.learn(words, 60, settings).segments
