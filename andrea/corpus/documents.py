"""The one format behind the stage `documents`: a folder of Parquet files, one a split.

Any tool that knows Parquet reads them. A row is a document: its `text`; its `place` among the
different documents of the text that it stood in; and `copies`, how often it stood there. Equal
documents give equal bytes. `manifest.json` says what the files hold and where from.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow
from pyarrow import parquet

from andrea.common import files
from andrea.common.errors import UserError

FORMAT = 1
SPLITS = ("train", "probe", "val")
MANIFEST = "manifest.json"
SCHEMA = pyarrow.schema(
    [("text", pyarrow.string()), ("place", pyarrow.int64()), ("copies", pyarrow.int64())]
)
GROUP_CHARACTERS = 1 << 22  # of a row group: what reader and writer hold in memory
LEVEL = 3  # of Zstandard: 9 packs a tenth better and writes three times as slowly


class Document(NamedTuple):
    """One row."""

    text: str
    place: int
    copies: int


def digest(document: str) -> bytes:
    """16 bytes that name a document."""
    return hashlib.blake2b(document.encode(), digest_size=16).digest()


@dataclass(frozen=True)
class SourceDocuments:
    """The documents of one source; what is read is in memory a row group at a time."""

    folder: Path
    manifest: Mapping[str, Any]

    def texts(self, split: str) -> Iterator[str]:
        """Yield the documents of a split in order, each once."""
        return (document.text for document in read(self.folder / f"{split}.parquet"))

    def held_out(self) -> Iterator[str]:
        """Yield the held-out documents in order, each as often as the source has it."""
        return _each_copy(read(self.folder / "val.parquet"))

    def training(self) -> Iterator[str]:
        """Yield the documents of train and probe in order, each as often as the source has it."""
        splits = (read(self.folder / f"{name}.parquet") for name in ("train", "probe"))
        return _each_copy(heapq.merge(*splits, key=lambda document: document.place))


def open_documents(folder: Path) -> SourceDocuments:
    """Open a folder after checking that its files are the ones that were written.

    Raises:
        UserError: it is missing, of another format, or changed; names folder and file.
    """
    stage = f"documents@{folder.name}" if folder.parent.name == "documents" else folder.name

    def refusal(path: Path, reason: str) -> UserError:
        remedy = f"`dvc repro -f -s {stage}` writes it anew"
        return UserError(f"documents {folder.name}: {path} {reason}; {remedy}")

    path = folder / MANIFEST
    if not path.is_file():
        raise refusal(path, "is missing")
    try:
        manifest = files.read_json(path)
        if manifest["format"] != FORMAT:
            raise ValueError(f"format {manifest['format']}, needed is {FORMAT}")
        written = {name: split["sha256"] for name, split in manifest["splits"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise refusal(path, f"is damaged ({error})") from error
    for name, sha256 in written.items():
        file = folder / f"{name}.parquet"
        if not file.is_file():
            raise refusal(file, "is missing")
        if files.sha256(file) != sha256:
            raise refusal(file, "was changed after writing")
    return SourceDocuments(folder, manifest)


def read(path: Path) -> Iterator[Document]:
    """Yield the rows of one file."""
    with parquet.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            columns = file.read_row_group(group, use_threads=False).to_pydict()
            yield from map(Document, columns["text"], columns["place"], columns["copies"])


class Writer:
    """Writes one file, a row group at a time; use as a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[Document] = []
        self._characters = 0
        self._documents = self._bytes = 0

    def __enter__(self) -> Self:
        # Text hardly repeats as a whole and no one looks for a range of it: neither a dictionary
        # of values nor their extremes are worth their bytes.
        self._file = parquet.ParquetWriter(
            self._path, SCHEMA, compression="zstd", compression_level=LEVEL,
            use_dictionary=False, write_statistics=False,
        )  # fmt: skip
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._flush()
        self._file.close()

    def add(self, document: Document) -> None:
        """Append a row."""
        self._rows.append(document)
        self._characters += len(document.text)
        if self._characters >= GROUP_CHARACTERS:
            self._flush()

    def summary(self) -> dict[str, Any]:
        """Of the closed file, for the manifest."""
        sha256 = files.sha256(self._path)
        return {"documents": self._documents, "bytes": self._bytes, "sha256": sha256}

    def _flush(self) -> None:
        if not self._rows:
            return
        columns = dict(zip(Document._fields, zip(*self._rows, strict=True), strict=True))
        self._file.write_table(pyarrow.table(columns, schema=SCHEMA))
        self._documents += len(self._rows)
        self._bytes += sum(len(document.text.encode()) for document in self._rows)
        self._rows, self._characters = [], 0


def _each_copy(documents: Iterator[Document]) -> Iterator[str]:
    return (document.text for document in documents for _ in range(document.copies))
