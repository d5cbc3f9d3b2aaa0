"""Pieces as people read them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from andrea.tokens.display import SEPARATOR, segmentation


def test_what_cannot_be_seen_is_shown() -> None:
    """White space by a sign, bytes and control characters by their numbers."""
    pieces = [b" a b", b"\n", b"\t", b"\xe2\x82", b"\xac", "é".encode(), b"\x00", b"", b"<"]
    assert segmentation(pieces) == "·a·b│⏎│⇥│<e2 82>│<ac>│é│<00>│<>│<"


@given(st.lists(st.binary(max_size=6)))
def test_one_printable_line(pieces: list[bytes]) -> None:
    """Whatever the bytes are, the terminal is safe."""
    shown = segmentation(pieces)
    assert shown.isprintable()
    assert shown.count(SEPARATOR) >= len(pieces) - 1
