"""Documents of one source: JSON Lines, gzipped or plain, read one line at a time."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from andrea.errors import UserError


def read(path: Path) -> Iterator[str]:
    """Yield the field `text` of every line, in order; one line is in memory at a time.

    Args:
        path: a JSON Lines file; a name that ends in `.gz` is read as gzip.

    Raises:
        UserError: the file is missing, unreadable or without a document, or a line is not a JSON
            object with a string `text` of valid Unicode. The message names file, line and reason.
    """
    number = 0
    with _open(path) as file:
        lines = iter(file)
        while True:
            try:
                line = next(lines, None)
            except (EOFError, OSError, zlib.error) as error:
                raise UserError(
                    f"{path}, line {number + 1}: cannot be read as {_kind(path)} ({error})"
                ) from error
            if line is None:
                break
            number += 1
            try:
                yield _text(line)
            except _LineError as error:
                raise UserError(f"{path}, line {number}: {error}") from error
    if number == 0:
        raise UserError(f"{path}: holds no document; at least one line of JSON is needed")


def batches(documents: Iterable[str], characters: int = 1 << 20) -> Iterator[list[str]]:
    """Group documents, in order, into lists of about as many characters; none is cut."""
    batch: list[str] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document)
        if size >= characters:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _LineError(Exception):
    """Why one line is no document."""


def _kind(path: Path) -> str:
    return "gzip" if path.suffix == ".gz" else "a file"


def _open(path: Path) -> BinaryIO:
    if not path.parent.is_dir():
        raise UserError(f"{path.parent}: no such folder; a source needs its folder of JSON Lines")
    try:
        return cast(BinaryIO, gzip.open(path)) if path.suffix == ".gz" else path.open("rb")
    except OSError as error:
        raise UserError(f"{path}: cannot be opened ({error.strerror})") from error


def _text(line: bytes) -> str:
    try:
        record = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _LineError(f"invalid UTF-8 at byte {error.start} ({error.reason})") from error
    except (ValueError, RecursionError) as error:
        raise _LineError(f"bad JSON ({error})") from error
    if not isinstance(record, dict) or "text" not in record:
        raise _LineError('no field "text"; each line is an object {"text": "..."}')
    text = record["text"]
    if not isinstance(text, str):
        raise _LineError(f'the field "text" is {type(text).__name__}, a string is needed')
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _LineError(
            f"a lone surrogate at character {error.start} of the text, which is no Unicode text"
        ) from error
    return text
