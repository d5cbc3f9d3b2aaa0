"""The one exception for a mistake that the user can mend, and text that fits its line."""

from __future__ import annotations


class UserError(Exception):
    """A mistake in the user's input, told in one line.

    The message names the file, line or parameter, the value found and what is allowed. Stages and
    commands print it as `error: ...` without a traceback; everything else is a fault of ours.
    """


def line(told: object, longest: int = 160) -> str:
    """One line that is safe in a terminal: `?` for what could command it or cannot be written."""
    text = " ".join(str(told).split())
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:longest]
