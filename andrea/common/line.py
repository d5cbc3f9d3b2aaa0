"""What is said of names and files that may hold anything."""

from __future__ import annotations


def line(told: object, longest: int = 160) -> str:
    """One line that is safe in a terminal: `?` for what could command it or cannot be written."""
    text = " ".join(str(told).split())
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:longest]
