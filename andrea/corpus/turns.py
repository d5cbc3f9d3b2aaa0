"""Conversations as text: `> ` begins a prompt, `< ` a reply, each at the start of a line.

A turn goes on over further lines. A further line that would itself begin like a turn has one space
put before it, and so has one that begins with spaces and then a mark: two conversations never give
one text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Role = Literal["prompt", "reply"]

MARKS: dict[Role, str] = {"prompt": "> ", "reply": "< "}

TO_QUOTE = re.compile(r"(?<=\n)(?= *[<>] )")


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
