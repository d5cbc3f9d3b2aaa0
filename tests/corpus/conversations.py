"""Conversations read back from their text."""

from __future__ import annotations

import re

from andrea.corpus.turns import MARKS, Turn

BEGINS = re.compile(r"(?:\A|\n)([<>] )")
QUOTED = re.compile(r"(?<=\n) (?= *[<>] )")


def parse(text: str) -> list[Turn]:
    """The turns of a text that `render` wrote."""
    before, *parts = BEGINS.split(text)
    assert before == ""
    roles = {mark: role for role, mark in MARKS.items()}
    return [
        Turn(roles[mark], QUOTED.sub("", said))
        for mark, said in zip(parts[::2], parts[1::2], strict=True)
    ]
