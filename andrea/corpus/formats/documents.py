"""Documents of a source, whatever its format: one string after the other, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from andrea.common.errors import UserError
from andrea.corpus.formats.recognise import recognise
from andrea.corpus.formats.records import RecordFormat
from andrea.corpus.formats.registry import FORMATS


def read(path: Path, format: str | None = None, field: str = "text") -> Iterator[str]:  # noqa: A002
    """Yield every document of a file or folder, in order; each is valid Unicode.

    The files of a folder are read in the order of their names.

    Args:
        format: a name in the registry; None recognises it.
        field: of a record, where its text stands.

    Raises:
        UserError: the format is unknown, the path is missing or has no document, or something in
            it cannot be read. The message names file, line or row, and reason.
    """
    if format is not None and format not in FORMATS:
        raise UserError(f"format {format!r}: not known, allowed are {', '.join(FORMATS)}")
    return _read(path, format, field)


def _read(path: Path, name: str | None, field: str) -> Iterator[str]:
    reader = FORMATS[name or recognise(path, field)]
    empty = True
    for text in reader.read(path, field):
        empty = False
        yield text
    if empty:
        kind = "record" if isinstance(reader, RecordFormat) else "text"
        raise UserError(f"{path}: holds no document; at least one {kind} is needed")
