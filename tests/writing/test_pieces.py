from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.model.filters import Sampling
from andrea.model.gpt import GPT, initialise
from andrea.tokens.tokenizer import Tokenizer
from andrea.writing.pieces import Piece, begun, write

from .conftest import SCALE, Script

SURE = Sampling(temperature=0)


def said(
    model: GPT, tokenizer: Tokenizer, prompt: str, tokens: int, marks: Sequence[str] = ()
) -> list[Piece]:
    return list(write(model, tokenizer, prompt, SURE, tokens, (1,), marks))


def test_a_document_ends_where_another_begins(script: Script, tokenizer: Tokenizer) -> None:
    model = script([b"th", b"e", b" river", None, b"x"], read=1)
    assert said(model, tokenizer, "", 20) == [
        ("th", 1, None), ("e", 2, None), (" river", 3, None), ("", 4, "document"),
    ]  # fmt: skip
    assert said(model, tokenizer, "", 2) == [("th", 1, None), ("e", 2, None), ("", 2, "length")]


def test_a_character_is_shown_once_it_is_whole(script: Script, tokenizer: Tokenizer) -> None:
    """Also one whose bytes two tokens share with others."""
    model = script([b"\xe2\x82", b"\xacx", b"\xf0", b"\x9f", b"\x98", b"\x80", b"\xe2\x82"], read=1)
    assert [piece.text for piece in said(model, tokenizer, "", 6)] == ["€x", "😀", ""]
    assert said(model, tokenizer, "", 7)[-1] == Piece("\ufffd", 7, "length")
    assert said(script([b"\xe2\x82", None], read=1), tokenizer, "", 7)[-1].text == "\ufffd"


def test_a_beginning_of_a_mark_is_held_back(script: Script, tokenizer: Tokenizer) -> None:
    """Until it is the mark, which ends the text, or is not."""
    model = script([b"a", b"\n>", b"b", b"\n>", b" s", b"c"], read=1)
    assert said(model, tokenizer, "", 20, ["\n> "]) == [
        ("a", 1, None), ("\n>b", 3, None), ("", 5, "mark"),
    ]  # fmt: skip
    assert said(model, tokenizer, "", 4, ["\n> "])[-1] == ("\n>", 4, "length")
    assert said(model, tokenizer, "", 20, ["zz", "b\n", "\n> "])[1:] == [
        ("\n>", 3, None), ("", 4, "mark"),
    ]  # fmt: skip


def test_a_last_space_is_asked_of_the_first_token(script: Script, tokenizer: Tokenizer) -> None:
    """And not shown twice; the model reads the prompt without it."""
    model = script([b"th", b"e"], read=3)  # BOS and two bytes
    with_space = said(model, tokenizer, "ab ", 1)
    assert with_space[0].text in ("", "river", "s")  # of the pieces that begin with a space
    assert said(model, tokenizer, "ab", 1)[0].text == "th"
    assert said(script([b" river"], read=3), tokenizer, "ab ", 1)[0].text == "river"


@given(
    text=st.text("ab\n> ", max_size=30),
    marks=st.lists(st.text("ab\n> ", min_size=1, max_size=4), max_size=3),
)
def test_what_is_held_back_is_the_longest_beginning(text: str, marks: list[str]) -> None:
    held = begun(text, marks)
    endings = {text[len(text) - n :] for n in range(1, len(text) + 1)}
    beginnings = {mark[:n] for mark in marks for n in range(1, len(mark) + 1)}
    assert held == max(map(len, endings & beginnings), default=0)


@pytest.mark.parametrize("marks", [(), ("\n> ",), ("e", "th"), (" ", "\ufffd")])
def test_pieces_are_the_text_however_it_is_cut(tokenizer: Tokenizer, marks: Sequence[str]) -> None:
    """What random tokens spell, up to the first mark, read in one go."""
    model = GPT(SCALE)
    initialise(model, 3)
    for seed in range(10):
        whole = list(write(model, tokenizer, "a", Sampling(), 40, (seed,)))
        text = "".join(piece.text for piece in whole)
        expected = min((text.split(mark)[0] for mark in marks), key=len, default=text)
        cut = list(write(model, tokenizer, "a", Sampling(), 40, (seed,), marks))
        assert "".join(piece.text for piece in cut) == expected
        assert [piece.end is None for piece in cut] == [True] * (len(cut) - 1) + [False]
        assert (cut[-1].end == "mark") == (expected != text)
        assert all(piece.text for piece in cut[:-1])


def test_the_same_key_says_the_same(tokenizer: Tokenizer) -> None:
    model = GPT(SCALE)
    initialise(model, 3)
    one, same, other = (
        [piece.text for piece in write(model, tokenizer, "a", Sampling(), 40, (key,))]
        for key in (1, 1, 2)
    )
    assert one == same != other
