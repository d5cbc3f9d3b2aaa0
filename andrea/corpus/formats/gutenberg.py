"""Project Gutenberg's plain text files, without their header and licence.

The text stands between `*** START OF THE PROJECT GUTENBERG EBOOK` and `*** END OF ...` (since
about 2001), or between the end of the "small print" and "End of the Project Gutenberg Etext"
(1994 to 2003); some files have both. Files without any mark are refused rather than guessed at.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import chain, groupby, islice
from pathlib import Path

from andrea.common.errors import UserError
from andrea.corpus.formats import plain

ENDINGS = (".txt",)
HEAD_LINES = 1000
CREDIT_PARAGRAPHS = 8
WRAPPED_CHARACTERS = 50

CHAPTER = re.compile(r"\n\n\n+")

_START = re.compile(
    r"\s*\*+\s*START OF (?:THE |THIS )?(?:COPYRIGHTED )?PROJECT GUTENBERG"
    r"|\s*\*+\s*END\W*THE SMALL PRINT",
    re.I,
)
_END = re.compile(r"\s*(?:\*+\s*)?END OF (?:THE |THIS )?(?:COPYRIGHTED )?PROJECT GUTENBERG", re.I)
_LICENCE = re.compile(r"\s*\*+\s*START\W*THE SMALL PRINT", re.I)
_ENCODING = re.compile(r"\s*Character set encoding:\s*(.*?)\s*$", re.I)
_LATIN = re.compile(r"iso[- ]latin-1|windows code-?page 1252", re.I)
_CREDIT = re.compile(
    r"""[\[(_* ]*(?:
        (?:this\ )?(?:project\ gutenberg\ )?e-?(?:text|book)\ (?:was\ )?
            (?:first\ )?(?:produced|prepared|transcribed|created|scanned)
        | (?:produced|prepared|transcribed|digiti[sz]ed|scanned|proofread|updated|created|typed
            |html\ version|credits|images?\ (?:generously\ )?(?:made\ available|provided))
            (?:\ and\ \w+)*(?:\ by\b|:|\ from\b)
        | transcriber['’]?s?['’]?\ notes?\b
        | note:\ project\ gutenberg
    )""",
    re.I | re.X,
)


def documents(path: Path) -> Iterator[str]:
    """Yield the text of a file, cut to documents of at most 8000 characters.

    Lines that were wrapped are joined to paragraphs; verse keeps its lines. Paragraphs that credit
    those who made the file are left out at the start of the text. A text is cut where a chapter
    ends if it can be, else at a paragraph. A line that is not UTF-8 is read in the encoding that
    the header declares, or as Windows-1252 (which holds ISO-8859-1) where it declares none.

    Raises:
        UserError: the file cannot be read, has no mark where its text begins or declares an unknown
            encoding, or a line is not in the declared encoding.
    """
    for piece in plain.pieces(_paragraphs(_body(path)), (CHAPTER, *plain.BORDERS)):
        yield CHAPTER.sub("\n\n", piece)


def is_like(path: Path) -> bool:
    """Whether a file has a mark where a text begins."""
    return any(_START.match(line) for line in plain.mixed(plain.head(path)).splitlines())


def _body(path: Path) -> Iterator[str]:
    """The lines between the marks, without their ends."""
    lines = _decoded(path)
    head = list(islice(lines, HEAD_LINES))
    starts: list[int] = []
    for number, line in enumerate(head):
        if starts and _END.match(line):
            break
        if _START.match(line):
            starts.append(number)
    if not starts:
        raise UserError(
            f"{path}, lines 1 to {len(head)}: no mark `*** START OF THE PROJECT GUTENBERG EBOOK` or"
            " end of the small print; a file without marks is read with `format: text`"
        )
    start = starts[-1]
    closed = (n for n, line in enumerate(head[start : start + 4], start) if line[-1:] in ("*", ""))
    for line in chain(head[next(closed, start) + 1 :], lines):
        if _END.match(line) or _LICENCE.match(line):
            return
        yield line


def _decoded(path: Path) -> Iterator[str]:
    declared: str | None = None
    for number, line in enumerate(plain.lines(path), start=1):
        try:
            text = plain.mixed(line) if declared is None else _utf8_or(declared, line)
        except UnicodeDecodeError as error:
            raise UserError(
                f"{path}, line {number}: 0x{error.object[error.start]:02x} is not {declared}, which"
                " the header declares"
            ) from error
        text = text.removeprefix("\ufeff").rstrip()
        if declared is None and number <= HEAD_LINES and (match := _ENCODING.match(text)):
            declared = _codec(match[1], f"{path}, line {number}")
        yield text


def _utf8_or(encoding: str, line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode(encoding)


def _codec(declared: str, place: str) -> str:
    """The name of a codec; ASCII, which old files often exceed, counts as Windows-1252."""
    name = "cp1252" if _LATIN.fullmatch(declared) else declared
    try:
        b"a".decode(name)
    except (LookupError, ValueError) as error:
        raise UserError(
            f"{place}: character set encoding {declared!r} is unknown; UTF-8, ISO-8859-1 and"
            " others that Python knows and that hold ASCII are allowed"
        ) from error
    codec = codecs.lookup(name).name
    return "cp1252" if codec in ("ascii", "iso8859-1") else codec


def _paragraphs(lines: Iterator[str]) -> Iterator[str]:
    """Paragraphs with the empty lines after them; credits among the first ones are left out."""
    count = 0
    for filled, group in groupby(lines, key=bool):
        if not filled:
            yield "\n" * sum(1 for _ in group)
            continue
        paragraph = list(group)
        count += 1
        if count > CREDIT_PARAGRAPHS or not _CREDIT.match(paragraph[0]):
            yield _joined(paragraph) + "\n"


def _joined(lines: list[str]) -> str:
    """A paragraph in one line if its lines were wrapped, and as it stands if they are verse.

    Wrapped are lines that are long (but the last), not indented (but the first) and do not all
    begin with a capital.
    """
    later = lines[1:]
    wrapped = (
        all(len(line) >= WRAPPED_CHARACTERS for line in lines[:-1])
        and not any(line[0].isspace() for line in later)
        and any(not line[0].isupper() for line in later)
    )
    return " ".join(line.strip() for line in lines) if wrapped else "\n".join(lines)


FORMAT = plain.Format(documents, ENDINGS, is_like)
