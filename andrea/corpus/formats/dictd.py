"""Dictionaries of dictd: an index of headwords, and one file with all definitions.

A line of the index is headword, offset, length and perhaps the headword as it is spelled, the
numbers in base 64 (the format of dictd and dictfmt, Rik Faith 1996). The definitions may be packed
by dictzip, which is gzip.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from andrea.common.errors import UserError
from andrea.corpus.formats import plain

LINE = re.compile(
    r"(?P<word>[^\t\n]+)\t(?P<offset>[A-Za-z0-9+/]+)\t(?P<length>[A-Za-z0-9+/]+)"
    r"(?:\t(?P<spelled>[^\t\n]+))?"
)
LONGEST_BYTES = 1 << 20

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ABOUT = re.compile(r"00-?database", re.I)
_REFERENCE = re.compile(r"\{([^{}\n]*)\}")


def entries(index: Path) -> Iterator[tuple[str, str]]:
    """Yield headwords with their definitions, in the order of the definitions' file.

    The index is held in memory, the definitions are read one after the other. Entries about the
    dictionary itself are left out.

    Raises:
        UserError: there is no `.dict` beside the index, or a line of the index is wrong.
    """
    data = _definitions(index)
    places = sorted(_places(index))
    blocks = plain.blocks(data)
    held, start = b"", 0
    for offset, length, line, word in places:
        while start + len(held) < offset + length:
            kept = max(0, min(len(held), offset - start))
            held, start = held[kept:], start + kept
            block = next(blocks, b"")
            if not block:
                raise UserError(
                    f"{index}, line {line}: {word!r} ends at byte {offset + length} of {data.name},"
                    f" which has {start + len(held)}"
                )
            held += block
        yield word, _definition(word, plain.mixed(held[offset - start : offset - start + length]))


def _definitions(index: Path) -> Path:
    stem = plain.name(index).removesuffix(".index")
    for file in sorted(index.parent.iterdir()):
        if file.name.lower() in (f"{stem}.dict", f"{stem}.dict.dz", f"{stem}.dict.gz"):
            return file
    raise UserError(f"{index}: no {stem}.dict or {stem}.dict.dz beside it")


def _places(index: Path) -> Iterator[tuple[int, int, int, str]]:
    for number, text in enumerate(plain.utf8_lines(index), start=1):
        match = LINE.fullmatch(text.rstrip("\n"))
        if match is None:
            raise UserError(
                f"{index}, line {number}: {text[:60]!r}; headword, offset and length with tabs"
                " between them are needed"
            )
        offset, length = _number(match["offset"]), _number(match["length"])
        if length > LONGEST_BYTES:
            raise UserError(
                f"{index}, line {number}: a definition of {length} bytes, at most {LONGEST_BYTES}"
                " are allowed"
            )
        if not _ABOUT.match(match["word"]):
            yield offset, length, number, match["spelled"] or match["word"]


def _number(digits: str) -> int:
    value = 0
    for digit in digits:
        value = 64 * value + _DIGITS.index(digit)
    return value


def _definition(word: str, text: str) -> str:
    """A definition without the line of its headword, its indent and its marks of references."""
    first, _, rest = text.strip("\n").partition("\n")
    named = re.compile(rf"{re.escape(word)}\s*(?:(?P<alone>(?:[/\\\[].*)?$)|[,:]\s+)", re.I)
    heading = named.match(first.strip())
    if heading and heading["alone"] is None:
        text = f"{first.strip()[heading.end() :]}\n{rest}"
    elif heading and rest.strip():
        text = rest
    return _REFERENCE.sub(r"\1", textwrap.dedent(text)).strip()
