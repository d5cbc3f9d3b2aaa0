from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.paths import RAW
from andrea.corpus.formats import records
from andrea.corpus.turns import Turn, render
from tests.contract.conftest import ROOT
from tests.corpus.conversations import parse

CHATS = (
    "chat", "dictionary", "factbook", "hermes3-creative", "hermes3-general", "hermes3-roleplay",
    "oasst", "smoltalk", "synthetic-chat", "unfirehose-chat",
)  # fmt: skip

pieces = st.sampled_from(["> ", "< ", ">", "<", " ", "\n", "\r", "\t", "a", "\0", "\u2028", "é"])
texts = st.lists(pieces, max_size=12).map("".join) | st.text(max_size=40)
conversations = st.lists(st.builds(Turn, st.sampled_from(["prompt", "reply"]), texts), max_size=6)


@given(conversations)
def test_what_is_read_back_is_what_was_written(turns: list[Turn]) -> None:
    assert parse(render(turns)) == turns


@given(conversations)
def test_only_turns_begin_with_a_mark(turns: list[Turn]) -> None:
    lines = render(turns).split("\n")
    assert sum(line.startswith(("> ", "< ")) for line in lines) == len(turns)


def test_an_ordinary_conversation_looks_like_the_shipped_ones() -> None:
    turns = [Turn("prompt", "Hello,\nyou."), Turn("reply", "Hi."), Turn("prompt", "a > b?")]
    assert render(turns) == "> Hello,\nyou.\n< Hi.\n> a > b?"
    assert render([Turn("reply", "Quoting:\n> x\n>y")]) == "< Quoting:\n > x\n>y"


@pytest.mark.parametrize("source", CHATS)
def test_shipped_chats_are_read_and_written_back_unchanged(source: str) -> None:
    for place, record in records.read(ROOT / RAW / source / "eval.jsonl.gz"):
        turns = parse(record["text"])
        assert render(turns) == record["text"], place
        assert [turn.role for turn in turns] == ["prompt", "reply"] * (len(turns) // 2)
