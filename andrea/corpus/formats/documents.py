"""Documents of a source, one string after the other, in its format or in one that is recognised."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from andrea.common.errors import UserError
from andrea.corpus.formats import chat, folders, opened, plain, records, repository
from andrea.corpus.formats.plain import Format
from andrea.corpus.formats.registry import FORMATS

PLAIN = {name: form for name, form in FORMATS.items() if isinstance(form, Format)}
REPOSITORY = [name for name, form in PLAIN.items() if not form.endings]
# Those of records first, then of what is most common among plain text.
ENDINGS = tuple(
    dict.fromkeys(
        end
        for endings in (*records.ENDINGS.values(), *(f.endings for f in reversed(PLAIN.values())))
        for end in endings
    )
)
START_BYTES = 4096


def read(path: Path, format: str | None = None, field: str = "text") -> Iterator[str]:  # noqa: A002
    """Yield every document of a file or folder, in order; each is valid Unicode.

    The files of a folder are read in the order of their names. A format of None is recognised;
    `field` is where the text of a record stands.

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
        kind = "text" if isinstance(reader, Format) else "record"
        raise UserError(f"{path}: holds no document; at least one {kind} is needed")


def recognise(path: Path, field: str = "text") -> str:
    """The format by what a file holds, or the first file of a folder.

    Record files are known by their first bytes and their first record, a folder of them by their
    endings; the other formats by their own signs. Three formats read a git repository: that one is
    never guessed.

    Raises:
        UserError: the path is missing, empty, a git repository, holds several kinds of record
            files, or is of no known format.
    """
    if path.is_dir():
        return _folder(path, field)
    start = opened.start(path, START_BYTES)
    if not start:
        raise UserError(f"{path}: holds no document, it is empty")
    kind = records.container(path)
    if kind != "jsonl" or start.removeprefix(records.BYTE_ORDER_MARK).lstrip()[:1] == b"{":
        try:
            return _of_records(path, kind, field)
        except UserError:
            if not plain.name(path).endswith(folders.ENDINGS):
                raise
    if text := _text(path):
        return text
    if start.lstrip()[:1] == b"[":
        raise UserError(
            f"{path}: begins like a JSON array; JSON Lines are needed, one object a line"
            " (jq -c '.[]' turns one into the other)"
        )
    raise UserError(f"{path}: of no format that is known from the file; `format` has to name it")


def _folder(path: Path, field: str) -> str:
    if repository.looks_like(path):
        raise UserError(
            f"{path}: a git repository; `format` has to say what to read of it:"
            f" {', '.join(REPOSITORY)}"
        )
    firsts = {kind: plain.first(path, ends) for kind, ends in records.ENDINGS.items()}
    there = {kind: file for kind, file in firsts.items() if file is not None}
    if len(there) > 1:
        raise UserError(
            f"{path}: holds {' and '.join(records.NAMES[kind] for kind in there)} files; `format`"
            " has to say which to read"
        )
    for file in there.values():
        return recognise(file, field)
    if text := _text(path):
        return text
    if first := plain.first(path, ENDINGS):
        return recognise(first, field)
    raise UserError(
        f"{path}: holds no file that can be read; known endings are {', '.join(ENDINGS)} (packed or"
        " not; hidden files and links are passed over)"
    )


def _of_records(path: Path, kind: str, field: str) -> str:
    place, record = next(records.read(path, rows=1), ("", None))
    if record is None:
        raise UserError(f"{path}: holds no document, it has no record")
    if chat.looks_like(record, field):
        return "chat"
    if isinstance(record.get(field), str):
        return kind
    if text := _text(path):
        return text
    for name in chat.LISTS:
        if isinstance(record, dict) and isinstance(record.get(name), str):
            raise UserError(f'{path}, {place}: "{name}" is a string; it must be a list of messages')
    raise UserError(
        f'{path}, {place}: neither a text "{field}" nor "messages" or "conversations";'
        f" {records.fields(record)} (`field` names the text)"
    )


def _text(path: Path) -> str | None:
    return next((name for name, form in PLAIN.items() if form.looks_like(path)), None)
