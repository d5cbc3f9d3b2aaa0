"""Token shards: one folder per source, memory-mapped, verified when opened.

`train.bin`, `probe.bin` and `val.bin` are streams of little-endian uint16 ids in which every
document is BOS followed by its tokens; `manifest.json` says what they hold and where from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from andrea import files
from andrea.config.shard import Shard as Settings
from andrea.errors import UserError
from andrea.text import sources, splits
from andrea.text.splits import SPLITS, digest
from andrea.text.tokenizer import BOS, Tokenizer, Tokens

FORMAT = 1
BATCH_CHARACTERS = 1 << 20


@dataclass(frozen=True)
class Shard:
    """One source's tokens, each (tokens,) uint16 and read-only, and its manifest."""

    train: Tokens
    probe: Tokens
    val: Tokens
    manifest: Mapping[str, Any]


def encode_documents(documents: Iterable[str], tokenizer: Tokenizer) -> Iterator[Tokens]:
    """Yield each document as BOS and its tokens, (1 + T,); a batch is in memory at a time."""
    for batch in sources.batches(documents):
        for ids in tokenizer.encode_batch(batch):
            yield np.concatenate([np.array([BOS], dtype=np.uint16), ids])


def write(
    folder: Path, train: Path, held_out: Path | None, tokenizer_file: Path, settings: Settings
) -> dict[str, Any]:
    """Tokenize one source into `folder`, which takes its place when it is whole.

    Args:
        train: JSON Lines of training documents, read twice.
        held_out: the source's own evaluation file; without one, the share `val_share` of the
            training documents is held out by hash.

    Returns:
        The manifest, as written to `manifest.json`.

    Raises:
        UserError: a file cannot be read, or there are too few documents for the splits.
    """
    tokenizer = Tokenizer.load(tokenizer_file)
    split = splits.split(train, held_out, settings)
    with files.whole_folder(folder) as part:
        writers = {name: _Writer(part / f"{name}.bin") for name in SPLITS}
        with writers["train"], writers["probe"], writers["val"]:
            seen: set[bytes] = set()
            if held_out is not None:
                for document in sources.read(held_out):
                    if (name := digest(document)) not in seen:
                        seen.add(name)
                        writers["val"].add(document, tokenizer)
            for document in sources.read(train):
                if (name := digest(document)) not in seen:
                    seen.add(name)
                    writers[split.place(name)].add(document, tokenizer)
            for writer in writers.values():
                writer.flush(tokenizer)
        manifest = {
            "format": FORMAT,
            "source": folder.name,
            "vocabulary": tokenizer.vocabulary_size,
            "splits": {name: writer.summary() for name, writer in writers.items()},
            "duplicates": dict(split.duplicates),
            "inputs": {
                "train": files.sha256(train),
                "eval": files.sha256(held_out) if held_out is not None else None,
                "tokenizer": files.sha256(tokenizer_file),
            },
        }
        files.write_json(part / "manifest.json", manifest)
    return manifest


def open_shard(folder: Path, tokenizer_file: Path) -> Shard:
    """Map a shard into memory after checking that its files are the ones that were written.

    Args:
        folder: what `write` wrote.
        tokenizer_file: the tokenizer that the tokens must be of.

    Raises:
        UserError: the shard is missing, of another format or tokenizer, short, long or changed;
            names shard and file.
    """
    path = folder / "manifest.json"
    remedy = f"`dvc repro -f -s shard@{folder.name}` writes it anew"
    if not path.is_file():
        raise UserError(f"shard {folder.name}: {path} is missing; {remedy}")
    try:
        manifest = files.read_json(path)
        version = manifest["format"]
        if version != FORMAT:
            raise UserError(
                f"shard {folder.name}: {path} has format {version}, needed is {FORMAT}; {remedy}"
            )
        tokenizer = manifest["inputs"]["tokenizer"]
        splits = {name: manifest["splits"][name] for name in SPLITS}
        expected = {name: (splits[name]["tokens"], splits[name]["sha256"]) for name in SPLITS}
    except (KeyError, TypeError, UnicodeDecodeError) as error:
        raise UserError(f"shard {folder.name}: {path} is damaged ({error}); {remedy}") from error
    except ValueError as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"shard {folder.name}: {path} is damaged ({error}); {remedy}") from error
    if not tokenizer_file.is_file() or files.sha256(tokenizer_file) != tokenizer:
        raise UserError(
            f"shard {folder.name}: {path} was made with another tokenizer than {tokenizer_file};"
            f" {remedy}"
        )
    arrays = {}
    for name, (tokens, sha256) in expected.items():
        file = folder / f"{name}.bin"
        size = file.stat().st_size if file.is_file() else -1
        if size != 2 * tokens:
            found = "is missing" if size < 0 else f"has {size} bytes instead of {2 * tokens}"
            raise UserError(f"shard {folder.name}: {file} {found}; {remedy}")
        if files.sha256(file) != sha256:
            raise UserError(f"shard {folder.name}: {file} was changed after writing; {remedy}")
        arrays[name] = np.memmap(file, dtype="<u2", mode="r")
    return Shard(arrays["train"], arrays["probe"], arrays["val"], manifest)


@dataclass
class _Writer:
    """Collects the documents of one split and writes them a batch at a time."""

    path: Path
    documents: int = 0
    tokens: int = 0
    bytes: int = 0
    waiting: list[str] = field(default_factory=list)
    waiting_size: int = 0

    def __enter__(self) -> Self:
        self.file: BinaryIO = self.path.open("wb")
        self.sha256 = hashlib.sha256()
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def add(self, document: str, tokenizer: Tokenizer) -> None:
        self.waiting.append(document)
        self.waiting_size += len(document)
        if self.waiting_size >= BATCH_CHARACTERS:
            self.flush(tokenizer)

    def flush(self, tokenizer: Tokenizer) -> None:
        for ids in encode_documents(self.waiting, tokenizer):
            data = ids.astype("<u2").tobytes()
            self.file.write(data)
            self.sha256.update(data)
            self.tokens += len(ids)
        self.documents += len(self.waiting)
        self.bytes += sum(len(document.encode()) for document in self.waiting)
        self.waiting, self.waiting_size = [], 0

    def summary(self) -> dict[str, Any]:
        return {
            "documents": self.documents,
            "tokens": self.tokens,
            "bytes": self.bytes,
            "sha256": self.sha256.hexdigest(),
        }
