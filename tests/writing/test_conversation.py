from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.errors import UserError
from andrea.corpus.formats import chat
from andrea.corpus.turns import Turn
from andrea.tokens.tokenizer import Tokenizer
from andrea.writing import conversation
from tests.corpus.conversations import parse

SAID = st.text("ab <>\n", max_size=12)


def turns(*texts: str) -> list[Turn]:
    return [Turn("reply" if n % 2 else "prompt", text) for n, text in enumerate(texts)]


def test_a_conversation_is_written_as_the_shipped_chats_are() -> None:
    given = turns("How are you?", "Well.\n> quoted", "Good.")
    assert conversation.ask("", given) == "> How are you?\n< Well.\n > quoted\n> Good.\n< "
    assert conversation.ask("Be brief.", given[:1]) == "> Be brief.\nHow are you?\n< "


def test_an_empty_reply_is_left_out_as_in_training() -> None:
    """The prompts around it become one, as the chats of the texts have it."""
    given = turns("one", "", "two")
    messages = [
        {"role": "assistant" if turn.role == "reply" else "user", "content": turn.text}
        for turn in given
    ]
    read = chat.document({"messages": messages}, "text")
    assert conversation.ask("", given) == f"{read}\n< " == "> one\ntwo\n< "


@given(said=st.lists(SAID.filter(bool), min_size=1, max_size=7).filter(lambda said: len(said) % 2))
def test_what_the_model_reads_is_what_was_said(said: list[str]) -> None:
    given = turns(*said)
    assert parse(conversation.ask("", given)) == [*given, Turn("reply", "")]


def test_a_reply_ends_where_any_turn_begins() -> None:
    assert conversation.STOPS == ("\n> ", "\n< ")


@pytest.mark.parametrize("system", ["", "Be brief."])
def test_the_oldest_go_whole_and_no_more_than_must(tokenizer: Tokenizer, system: str) -> None:
    """Prompt and reply together; the system prompt stays."""
    given = turns("aaaaaaaa", "bbbbbb", "cccc", "ddd", "ee")
    needed = [
        1 + len(tokenizer.encode(conversation.ask(system, given[start:]))) for start in (0, 2, 4)
    ]
    assert needed == sorted(needed, reverse=True)
    for most in range(needed[-1], needed[0] + 2):
        kept = conversation.cut(system, given, tokenizer, most)
        start = next(n for n in range(3) if needed[n] <= most)
        assert kept == given[2 * start :]
    with pytest.raises(UserError, match=f"{needed[-1]} tokens, at most {needed[-1] - 1} fit"):
        conversation.cut(system, given, tokenizer, needed[-1] - 1)
