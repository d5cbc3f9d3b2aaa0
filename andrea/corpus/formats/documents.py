"""Documents of a source, whatever its format: one string after the other, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from andrea.common.errors import UserError
from andrea.config.text import FORMATS
from andrea.corpus.formats import (
    chat,
    dictionary,
    folders,
    gutenberg,
    irc,
    records,
    repository,
)
from andrea.corpus.formats import recognise as recognition
from andrea.corpus.formats.records import RecordError

RECORDS = tuple(records.ENDINGS)
PLAIN: dict[str, Callable[[Path], Iterator[str]]] = {
    "text": folders.documents,
    "gutenberg": gutenberg.documents,
    "irc": irc.documents,
    "git-docs": repository.docs,
    "git-docstrings": repository.docstrings,
    "git-commits": repository.commits,
    "dictionary": dictionary.documents,
}


def read(path: Path, format: str | None = None, field: str = "text") -> Iterator[str]:  # noqa: A002
    """Yield every document of a file or folder, in order; each is valid Unicode.

    The files of a folder are read in the order of their names.

    Args:
        format: one of `andrea.config.sources.FORMATS`; None recognises it.
        field: of a record, where its text stands.

    Raises:
        UserError: the format is unknown, the path is missing or has no document, or something in
            it cannot be read. The message names file, line or row, and reason.
    """
    if format is not None and format not in FORMATS:
        raise UserError(f"format {format!r}: not known, allowed are {', '.join(FORMATS)}")
    return _read(path, format, field)


def recognise(path: Path, field: str = "text") -> str:
    """The format of a file or folder, one of `andrea.config.sources.FORMATS`.

    Raises:
        UserError: it cannot be told.
    """
    return recognition.recognise(path, field)


def document(record: Any, name: str, field: str) -> str:
    """The text of one record.

    Args:
        name: of its format, `chat` or one of `RECORDS`.

    Raises:
        RecordError: it has none.
    """
    text = chat.document(record, field) if name == "chat" else records.text(record, field)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise RecordError(
            f"a lone surrogate at character {error.start} of the text, which is no Unicode text"
        ) from error
    return text


def _read(path: Path, name: str | None, field: str) -> Iterator[str]:
    name = name or recognise(path, field)
    found = PLAIN[name](path) if name in PLAIN else _records(path, name, field)
    empty = True
    for text in found:
        empty = False
        yield text
    if empty:
        needed = f"; at least one {'record' if name not in PLAIN else 'text'} is needed"
        raise UserError(f"{path}: holds no document{needed}")


def _records(path: Path, name: str, field: str) -> Iterator[str]:
    kinds = RECORDS if name == "chat" else (name,)
    wanted = chat.columns(field) if name == "chat" else (field,)
    for file in recognition.files(path, kinds):
        kind = records.container(file)
        if kind not in kinds:
            found, needed = records.NAMES[kind], records.NAMES[name]
            raise UserError(f"{file}: the format is {found}, not {needed}")
        for place, record in records.read(file, wanted):
            try:
                yield document(record, name, field)
            except RecordError as error:
                raise UserError(f"{file}, {place}: {error}") from error
