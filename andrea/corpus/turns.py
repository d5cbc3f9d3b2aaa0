"""Conversations as text: `> ` begins a prompt, `< ` a reply, each at the start of a line.

A turn goes on over further lines. A further line that would itself begin like a turn has one space
put before it, and so has one that begins with spaces and then a mark: what is read back is what
was written, without exception.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from andrea.common.errors import UserError

Role = Literal["prompt", "reply"]

MARKS: dict[Role, str] = {"prompt": "> ", "reply": "< "}
ROLES: dict[str, Role] = {mark.strip(): role for role, mark in MARKS.items()}

BEGINS = re.compile(r"(?:\A|\n)([<>]) ")
TO_QUOTE = re.compile(r"(?<=\n)(?= *[<>] )")
QUOTED = re.compile(r"(?<=\n) (?= *[<>] )")


@dataclass(frozen=True)
class Turn:
    """What one side says; `text` may be empty or have many lines."""

    role: Role
    text: str


def render(turns: Iterable[Turn]) -> str:
    """Write turns as one document, without a line break at its end.

    An empty turn is its mark alone, with the space. Two turns of one role stay two.
    """
    return "\n".join(MARKS[turn.role] + TO_QUOTE.sub(" ", turn.text) for turn in turns)


def parse(text: str) -> list[Turn]:
    """Read turns back: `parse(render(turns)) == turns`.

    Raises:
        UserError: the text has lines before the first mark.
    """
    if text and not text.startswith(tuple(MARKS.values())):
        raise UserError(f"no conversation: it begins {text[:40]!r}, a turn with '> ' or '< '")
    _, *parts = BEGINS.split(text)
    return [
        Turn(ROLES[mark], QUOTED.sub("", said))
        for mark, said in zip(parts[::2], parts[1::2], strict=True)
    ]
