"""Conversations of chat records: OpenAI's `messages` and ShareGPT's `conversations`.

What no shape settles is decided as the shipped chats have it: a system prompt opens the prompt
that follows it, `[call]` marks the call of a tool and `[result]` its answer, and prompts and
replies alternate. docs/formats.md lists every rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from andrea.corpus.formats.records import ENDINGS, RecordError, RecordFormat, fields
from andrea.corpus.turns import Role, Turn, render

LISTS = ("messages", "conversations", "conversation")
SYSTEM = "system"  # a field of some records, beside the list

PROMPT: tuple[Role, str] = ("prompt", "")
REPLY: tuple[Role, str] = ("reply", "")
CALL: tuple[Role, str] = ("reply", "[call] ")
RESULT: tuple[Role, str] = ("prompt", "[result] ")
SPEAKERS = {
    "system": PROMPT, "developer": PROMPT, "user": PROMPT, "human": PROMPT,
    "assistant": REPLY, "gpt": REPLY, "chatgpt": REPLY, "model": REPLY,
    "function_call": CALL, "tool_call": CALL,
    "tool": RESULT, "function": RESULT, "observation": RESULT, "function_response": RESULT,
}  # fmt: skip


def columns(field: str) -> tuple[str, ...]:
    """Fields of a record that a conversation may stand in, and its system prompt."""
    return (*LISTS, field, SYSTEM)


def needed(record: dict[str, Any], field: str) -> list[str]:
    """Fields of one record that its conversation is made of."""
    there = [name for name in (*LISTS, field) if record.get(name) is not None]
    return there[:1] + [SYSTEM] * (record.get(SYSTEM) is not None)


def looks_like(record: Any, field: str) -> bool:
    """Whether a record holds a list of messages."""
    if not isinstance(record, dict):
        return False
    messages = _list_of(record, field)
    return isinstance(messages, list) and all(
        isinstance(message, dict) and _keys(message) is not None for message in messages
    )


def document(record: Any, field: str) -> str:
    """One conversation as text; as `turns`."""
    return render(turns(record, field))


def turns(record: Any, field: str) -> list[Turn]:
    """Turns of a conversation: none is empty, and prompts and replies alternate.

    Args:
        field: where the list stands in a record without `messages` or `conversations`.

    Raises:
        RecordError: the record is no conversation; names the message.
    """
    if not isinstance(record, dict):
        raise RecordError(f'no field "messages" or "conversations", it is {_type(record)}')
    messages = _list_of(record, field)
    if messages is None:
        raise RecordError(f'no field "messages" or "conversations"; {fields(record)}')
    if isinstance(messages, str):
        raise RecordError("the conversation is a string; it must be a list of messages")
    if not isinstance(messages, list):
        raise RecordError(f"the conversation is {_type(messages)}, a list of messages is needed")
    said = [Turn("prompt", _words(record.get(SYSTEM), SYSTEM))]
    for number, message in enumerate(messages):
        try:
            said.extend(_turns(message))
        except RecordError as error:
            raise RecordError(f"message {number + 1}: {error}") from error
    spoken = (turn for turn in said if turn.text)
    return [
        Turn(role, "\n".join(turn.text for turn in together))
        for role, together in groupby(spoken, lambda turn: turn.role)
    ]


def _list_of(record: dict[str, Any], field: str) -> Any:
    values = (record.get(name) for name in (*LISTS, field))
    return next((value for value in values if value is not None), None)


def _keys(message: dict[str, Any]) -> tuple[str, str] | None:
    """Names of a message's speaker and words; Arrow fills the keys of other shapes with nulls."""
    for speaker, words in (("role", "content"), ("from", "value")):
        if message.get(speaker) is not None:
            return speaker, words
    return None


def _turns(message: Any) -> Iterator[Turn]:
    if not isinstance(message, dict):
        raise RecordError(f"is {_type(message)}, an object is needed")
    keys = _keys(message)
    if keys is None:
        raise RecordError(f'neither "role" nor "from"; {fields(message)}')
    speaker = message[keys[0]]
    if not isinstance(speaker, str) or speaker not in SPEAKERS:
        allowed = ", ".join(SPEAKERS)
        raise RecordError(f'"{keys[0]}" is {str(speaker)[:40]!r}, allowed are {allowed}')
    role, mark = SPEAKERS[speaker]
    words = _words(message.get(keys[1]), keys[1])
    yield Turn(role, mark + words if words else "")
    for call in _calls(message):
        yield Turn("reply", CALL[1] + call)


def _words(content: Any, key: str) -> str:
    """What a message says, without white space around it: a string, null, or a list of parts."""
    if isinstance(content, list):
        parts = [_part(part, f"{key}[{number}]") for number, part in enumerate(content)]
        content = "\n".join(filter(None, parts))
    return _string(content, key).replace("\r\n", "\n").strip()


def _part(part: Any, key: str) -> str:
    if isinstance(part, dict):
        kind = part.get("type")
        name = "refusal" if kind == "refusal" else "text"
        if part.get(name) is None:
            raise RecordError(f'"{key}" is of type {kind!r}, only text can be read')
        part = part[name]
    return _string(part, key)


def _calls(message: dict[str, Any]) -> Iterator[str]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise RecordError(f'"tool_calls" is {_type(calls)}, a list is needed')
    functions = [call.get("function") if isinstance(call, dict) else None for call in calls]
    if (older := message.get("function_call")) is not None:
        functions.append(older)
    for function in functions:
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise RecordError("a tool call without a function and its name")
        arguments = _arguments(function.get("arguments"))
        call = {"name": function["name"], "arguments": arguments}
        yield json.dumps(call, ensure_ascii=False, default=str)


def _arguments(arguments: Any) -> Any:
    """OpenAI writes arguments as a string of JSON, which a model may have got wrong."""
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def _string(value: Any, key: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RecordError(f'"{key}" is {_type(value)}, a string is needed')
    return value


def _type(value: Any) -> str:
    return type(value).__name__


FORMAT = RecordFormat(document, columns, tuple(ENDINGS))
