"""Tokens as people read them."""

from __future__ import annotations

from collections.abc import Iterable

SEPARATOR = "│"
VISIBLE = str.maketrans({" ": "·", "\n": "⏎", "\t": "⇥"})


def segmentation(pieces: Iterable[bytes]) -> str:
    """Pieces in one line, a bar between two; a space is `·`, a line break `⏎`, a tab `⇥`.

    Bytes that are no text by themselves, and control characters, are hexadecimal: `<e2 82>`.
    """
    return SEPARATOR.join(_shown(piece) for piece in pieces)


def _shown(piece: bytes) -> str:
    try:
        text = piece.decode("utf-8").translate(VISIBLE)
    except UnicodeDecodeError:
        text = ""
    return text if text.isprintable() and text else f"<{piece.hex(' ')}>"
