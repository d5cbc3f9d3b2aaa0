"""Records of JSON Lines, Parquet and Arrow files, read one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from andrea.common.errors import UserError
from andrea.corpus.formats import opened, plain

if TYPE_CHECKING:
    import pyarrow

ENDINGS = {
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet",),
    "arrow": (".arrow", ".feather"),
}
NAMES = {"jsonl": "JSON Lines", "parquet": "Parquet", "arrow": "Arrow"}
PARQUET_MARK, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1\x00\x00", b"\xff\xff\xff\xff"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BATCH_ROWS = 64  # of Parquet in memory at a time
BUFFER_BYTES = 1 << 16  # of a Parquet column read at a time, instead of its whole row group


class RecordError(Exception):
    """Why one record is no document."""


@dataclass(frozen=True)
class RecordFormat:
    """How a document is made of one record, whose text stands in a field that is named.

    `columns` are those that it may need, `containers` kinds of files such records stand in.
    """

    text: Callable[[Any, str], str]
    columns: Callable[[str], tuple[str, ...]]
    containers: tuple[str, ...]

    @property
    def endings(self) -> tuple[str, ...]:
        """Of the files in a folder that are read."""
        return tuple(end for kind in self.containers for end in ENDINGS[kind])

    def document(self, record: Any, field: str) -> str:
        """The text of one record.

        Raises:
            RecordError: it has none.
        """
        text = self.text(record, field)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            place = f"at character {error.start} of the text"
            raise RecordError(f"a lone surrogate {place}, which is no Unicode text") from error
        return text

    def read(self, path: Path, field: str) -> Iterator[str]:
        """Yield the documents of a file or folder."""
        for file in plain.files(path, self.endings):
            if (kind := container(file)) not in self.containers:
                needed = NAMES[self.containers[0]]
                raise UserError(f"{file}: the format is {NAMES[kind]}, not {needed}")
            for place, record in read(file, self.columns(field)):
                try:
                    yield self.document(record, field)
                except RecordError as error:
                    raise UserError(f"{file}, {place}: {error}") from error


def container(path: Path) -> str:
    """`parquet` or `arrow` by the first bytes of a file, else `jsonl`.

    Raises:
        UserError: the file cannot be opened or decompressed.
    """
    start = opened.start(path, len(ARROW_FILE))
    if start.startswith(PARQUET_MARK):
        return "parquet"
    return "arrow" if start == ARROW_FILE or start.startswith(ARROW_STREAM) else "jsonl"


def read(
    path: Path, wanted: Collection[str] | None = None, rows: int = BATCH_ROWS
) -> Iterator[tuple[str, Any]]:
    """Yield the records of a file with their places, such as `line 3`.

    In memory at a time: a line, `rows` rows of Parquet, or one batch of Arrow. Of Parquet and Arrow
    those of the `wanted` columns are read that are there; all for None.

    Raises:
        UserError: names file, line or row, and reason.
    """
    kind = container(path)
    if kind == "jsonl":
        yield from _lines(path)
        return
    import pyarrow

    row = 0
    faults = (*opened.FAULTS, pyarrow.ArrowException, UnicodeDecodeError)
    try:
        with opened.stream(path) as file:
            parts = _parquet(path, wanted, rows) if kind == "parquet" else _arrow(path, file)
            for batch in parts:
                for record in batch.select(_columns(path, batch.schema, wanted)).to_pylist():
                    row += 1
                    yield f"row {row}", record
    except faults as error:
        reason = f"cannot be read as {NAMES[kind]} ({opened.first_line(error)})"
        raise UserError(f"{path}, row {row + 1}: {reason}") from error


def text(record: Any, field: str) -> str:
    """The text field of a record.

    Raises:
        RecordError: there is none, or it is no string.
    """
    if not isinstance(record, dict):
        raise RecordError(f'no field "{field}"; each line is an object {{"{field}": "..."}}')
    if field not in record:
        raise RecordError(f'no field "{field}"; {fields(record)}')
    value = record[field]
    if not isinstance(value, str):
        raise RecordError(f'the field "{field}" is {type(value).__name__}, a string is needed')
    return value


def fields(record: dict[str, Any]) -> str:
    """Which fields a record has, for a message."""
    named = [repr(name[:40]) for name in record][:8]
    return f"there are {', '.join(named)}" if named else "the record is empty"


def _lines(path: Path) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(opened.lines(path), 1):
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if not line.strip():
            raise UserError(f"{path}, line {number}: an empty line; one object a line is needed")
        try:
            yield f"line {number}", json.loads(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            reason = f"invalid UTF-8 at byte {error.start} ({error.reason})"
            raise UserError(f"{path}, line {number}: {reason}") from error
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}, line {number}: {opened.bad_json(error)}") from error


def _parquet(
    path: Path, wanted: Collection[str] | None, rows: int
) -> Iterator[pyarrow.RecordBatch]:
    from pyarrow import parquet

    _refuse_compressed(path, "Parquet")
    with parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
        columns = _columns(path, file.schema_arrow, wanted)
        yield from file.iter_batches(rows, columns=columns, use_threads=False)


def _arrow(path: Path, file: BinaryIO) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    if opened.start(path, len(ARROW_FILE)) == ARROW_FILE:
        _refuse_compressed(path, "Arrow")
        with pyarrow.OSFile(str(path)) as whole, pyarrow.ipc.open_file(whole) as reader:
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)
    else:
        with pyarrow.ipc.open_stream(file) as reader:
            yield from reader
            while file.read(BUFFER_BYTES):  # to the end, where a packed file has its checksum
                pass


def _columns(path: Path, schema: pyarrow.Schema, wanted: Collection[str] | None) -> list[str]:
    columns = [name for name in schema.names if wanted is None or name in wanted]
    if not columns:
        needed = ", ".join(wanted or ["any"])
        raise UserError(f"{path}: no column {needed}; {fields(dict.fromkeys(schema.names))}")
    return columns


def _refuse_compressed(path: Path, kind: str) -> None:
    if packed := opened.compression(path):
        raise UserError(f"{path}: {kind} inside {packed} cannot be read in parts; decompress it")


JSONL, PARQUET, ARROW = (
    RecordFormat(text, lambda field: (field,), (kind,)) for kind in ("jsonl", "parquet", "arrow")
)
