from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.corpus.formats import chat
from andrea.corpus.formats.records import RecordError
from tests.corpus.conversations import parse


def openai(*messages: tuple[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": said} for role, said in messages], **more}


def sharegpt(*messages: tuple[str, Any], **more: Any) -> dict[str, Any]:
    return {"conversations": [{"from": who, "value": said} for who, said in messages], **more}


def text(record: Any) -> str:
    return chat.document(record, "text")


def called(name: str, arguments: Any) -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_both_shapes_give_the_same_text() -> None:
    said = ["Hello.", "Hi.", "How are you?", "Fine,\nthank you."]
    expected = "> Hello.\n< Hi.\n> How are you?\n< Fine,\nthank you."
    assert text(openai(*zip(["user", "assistant"] * 2, said, strict=True))) == expected
    assert text(sharegpt(*zip(["human", "gpt"] * 2, said, strict=True))) == expected


def test_a_system_prompt_opens_the_prompt_that_follows() -> None:
    assert text(openai(("system", "Be kind."), ("user", "Hi"))) == "> Be kind.\nHi"
    assert text(openai(("developer", "Be kind."), ("assistant", "Hi"))) == "> Be kind.\n< Hi"
    assert text(sharegpt(("human", "Hi"), system="Be kind.")) == "> Be kind.\nHi"


def test_several_system_messages_stay_where_they_are() -> None:
    record = openai(
        ("system", "A."), ("system", "B."), ("user", "Hi"), ("assistant", "Ho"),
        ("system", "C."), ("user", "What?"), ("system", "D."), ("assistant", "That."),
    )  # fmt: skip
    assert text(record) == "> A.\nB.\nHi\n< Ho\n> C.\nWhat?\nD.\n< That."


def test_tools_look_as_in_the_shipped_chats() -> None:
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [called("look", '{"at": "é\\n"}')]},
        {"role": "tool", "content": "seen", "tool_call_id": "1"},
        {"role": "assistant", "content": "Done."},
    ]
    call = '[call] {"name": "look", "arguments": {"at": "é\\n"}}'
    expected = f"> Look.\n< {call}\n> [result] seen\n< Done."
    assert text({"messages": messages, "tools": [{"type": "function"}]}) == expected
    shares = [
        ("human", "Look."), ("function_call", call.removeprefix("[call] ")),
        ("observation", "seen"), ("gpt", "Done."),
    ]  # fmt: skip
    assert text(sharegpt(*shares, tools="[]")) == expected


def test_words_calls_and_results_side_by_side_share_a_turn() -> None:
    messages = [
        {"role": "user", "content": "Two?"},
        {
            "role": "assistant", "content": "Yes.",
            "tool_calls": [called("a", {"x": 1}), called("b", None)],
        },
        {"role": "tool", "content": "1"},
        {"role": "tool", "content": "2"},
        {"role": "user", "content": "And?"},
    ]  # fmt: skip
    assert text({"messages": messages}) == (
        '> Two?\n< Yes.\n[call] {"name": "a", "arguments": {"x": 1}}\n'
        '[call] {"name": "b", "arguments": {}}\n> [result] 1\n[result] 2\nAnd?'
    )


def test_the_older_call_and_arguments_that_are_no_json() -> None:
    message = {"role": "assistant", "function_call": {"name": "a", "arguments": "{oops"}}
    assert text({"messages": [message]}) == '< [call] {"name": "a", "arguments": "{oops"}'


def test_content_as_parts() -> None:
    parts = [{"type": "text", "text": "One."}, "Two.", {"type": "refusal", "refusal": "No."}]
    assert text(openai(("assistant", parts))) == "< One.\nTwo.\nNo."
    filled = {"type": "text", "text": "One.", "image_url": None}  # as Arrow has it
    assert text(openai(("user", [filled]), ("assistant", []))) == "> One."


def test_empty_and_null_turns_are_left_out_and_neighbours_join() -> None:
    record = openai(("user", "a"), ("assistant", ""), ("assistant", None), ("user", " \r\n"))
    assert text(record) == "> a"
    assert text(openai(("user", "a"), ("assistant", ""), ("user", "b"))) == "> a\nb"
    assert text(openai(("user", ""))) == text(openai()) == ""


def test_white_space_around_a_message_and_carriage_returns_go() -> None:
    assert text(sharegpt(("human", "\n a\r\n b \n"), ("gpt", "c "))) == "> a\n b\n< c"


def test_a_reply_may_come_first_and_a_prompt_last() -> None:
    assert text(sharegpt(("gpt", "Welcome."), ("human", "Hi"))) == "< Welcome.\n> Hi"


def test_arrow_fills_the_other_shape_with_nulls() -> None:
    message = {"role": None, "content": None, "from": "human", "value": "Hi", "tool_calls": None}
    assert text({"messages": None, "conversations": [message], "system": None}) == "> Hi"


def test_the_list_may_have_a_name_of_its_own() -> None:
    record = {"chosen": openai(("user", "Hi"))["messages"]}
    assert chat.looks_like(record, "chosen") and not chat.looks_like(record, "text")
    assert chat.document(record, "chosen") == "> Hi"


lines = st.sampled_from(["> a", "< b", " > c", ">", "d", "", "  < e"])
said = st.lists(lines, min_size=1, max_size=5).map("\n".join)
messages = st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), said), max_size=6)


@given(messages)
def test_turns_survive_whatever_the_messages_hold(given: list[tuple[str, str]]) -> None:
    turns = chat.turns(openai(*given), "text")
    assert parse(text(openai(*given))) == turns
    assert all(turn.text for turn in turns)
    assert all(a.role != b.role for a, b in pairwise(turns))
    words = "\n".join(text.strip() for _, text in given if text.strip())
    assert "\n".join(turn.text for turn in turns) == words


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ([], 'no field "messages" or "conversations", it is list'),
        ({"a": 1}, 'no field "messages" or "conversations"; there are \'a\''),
        ({"messages": "Hi"}, "the conversation is a string; it must be a list"),
        ({"messages": ["Hi"]}, "message 1: is str, an object is needed"),
        (openai(("user", "Hi"), ("nobody", "Ho")), "message 2: \"role\" is 'nobody', allowed"),
        ({"messages": [{"role": ["user"]}]}, "allowed are system, "),
        ({"messages": [{"content": "Hi"}]}, 'message 1: neither "role" nor "from"'),
        (openai(("user", 3)), 'message 1: "content" is int, a string'),
        (openai(("user", [3])), r'message 1: "content\[0\]" is int'),
        (openai(("user", [{"type": "image_url"}])), "of type 'image_url', only text"),
        ({"messages": [{"role": "assistant", "tool_calls": "x"}]}, '"tool_calls" is str'),
        ({"messages": [{"role": "assistant", "tool_calls": [{}]}]}, "a tool call without"),
        (sharegpt(("human", "Hi"), system=[1]), r'"system\[0\]" is int'),
    ],
)
def test_what_is_no_conversation_is_told_in_a_line(record: Any, reason: str) -> None:
    with pytest.raises(RecordError, match=reason) as caught:
        text(record)
    assert "\n" not in str(caught.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["role", "content", "from", "value", "tool_calls", "function", "name",
                         "arguments", "type", "text", "messages", "conversations"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(json_values, st.sampled_from(["messages", "conversations", "text"]))
def test_any_json_is_a_conversation_or_refused(value: Any, name: str) -> None:
    for record in (value, {name: value}, {name: [value]}):
        try:
            found = text(json.loads(json.dumps(record)))
        except RecordError as error:
            assert "\n" not in str(error)
        else:
            assert chat.looks_like(record, "text") and (found == "" or parse(found))
