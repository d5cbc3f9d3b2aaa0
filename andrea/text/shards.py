"""Token shards: one folder per source, memory-mapped, verified when opened.

`train.bin`, `probe.bin` and `val.bin` are streams of little-endian uint16 ids in which every
document is BOS followed by its tokens; `manifest.json` says what they hold and where from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from andrea import files
from andrea.config.shard import Shard as Settings
from andrea.errors import UserError
from andrea.text import sources
from andrea.text.tokenizer import BOS, Tokenizer, Tokens

FORMAT = 1
SPLITS = ("train", "probe", "val")
BATCH_BYTES = 1 << 20


@dataclass(frozen=True)
class Shard:
    """One source's tokens, each (tokens,) uint16 and read-only, and its manifest."""

    train: Tokens
    probe: Tokens
    val: Tokens
    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class Split:
    """Which documents go where, by digest; the rest of the training file is for training.

    Attributes:
        val: kept for evaluation; training documents that equal one are dropped.
        probe: kept for the probe reward.
        duplicates: documents dropped, by reason.
    """

    val: frozenset[bytes]
    probe: frozenset[bytes]
    duplicates: Mapping[str, int]


def digest(document: str) -> bytes:
    """16 bytes that name a document; the halves decide about val and about probe."""
    return hashlib.blake2b(document.encode(), digest_size=16).digest()


def encode_documents(documents: Iterable[str], tokenizer: Tokenizer) -> Iterator[Tokens]:
    """Yield each document as BOS and its tokens, (1 + T,); a batch is in memory at a time."""
    for batch in _batches(documents):
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
    split = _split(train, held_out, settings)
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
                    writers[_place(name, split)].add(document, tokenizer)
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


def open_shard(folder: Path) -> Shard:
    """Map a shard into memory after checking that its files are the ones that were written.

    Raises:
        UserError: the shard is missing, of another format, short, long or changed; names shard and
            file.
    """
    path = folder / "manifest.json"
    remedy = f"remove {folder} and run `dvc repro`"
    if not path.is_file():
        raise UserError(f"shard {folder.name}: {path} is missing; {remedy}")
    try:
        manifest = files.read_json(path)
        version = manifest["format"]
        if version != FORMAT:
            raise UserError(
                f"shard {folder.name}: {path} has format {version}, needed is {FORMAT}; {remedy}"
            )
        splits = {name: manifest["splits"][name] for name in SPLITS}
        expected = {name: (splits[name]["tokens"], splits[name]["sha256"]) for name in SPLITS}
    except (KeyError, TypeError, UnicodeDecodeError) as error:
        raise UserError(f"shard {folder.name}: {path} is damaged ({error}); {remedy}") from error
    except ValueError as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"shard {folder.name}: {path} is damaged ({error}); {remedy}") from error
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


def _place(name: bytes, split: Split) -> str:
    return "val" if name in split.val else "probe" if name in split.probe else "train"


def _split(train: Path, held_out: Path | None, settings: Settings) -> Split:
    """Read the source once and decide by digests alone."""
    documents = [digest(document) for document in sources.read(train)]
    unique = sorted(set(documents))
    duplicates = {"train": len(documents) - len(unique)}
    if held_out is None:
        val = _below(unique, settings.val_share, slice(0, 8))
        duplicates |= {"val": 0, "train_in_val": 0}
        left = [name for name in unique if name not in val]
    else:
        others = [digest(document) for document in sources.read(held_out)]
        val = frozenset(others)
        left = [name for name in unique if name not in val]
        duplicates |= {"val": len(others) - len(val), "train_in_val": len(unique) - len(left)}
    probe = _below(left, settings.probe_share, slice(8, 16))
    if len(left) <= len(probe):
        needed = "train, probe and val" if held_out is None else "train and probe"
        raise UserError(
            f"{train}: {len(unique)} different documents are too few to split into {needed}; "
            "add documents or remove the source from `sources`"
        )
    return Split(val, probe, duplicates)


def _below(names: list[bytes], share: float, half: slice) -> frozenset[bytes]:
    """Names whose half, read as a fraction of 1, lies below `share`; at least the smallest."""
    chosen = [name for name in names if int.from_bytes(name[half], "big") < share * 2**64]
    return frozenset(chosen or sorted(names, key=lambda name: name[half])[:1])


def _batches(documents: Iterable[str]) -> Iterator[list[str]]:
    """Group documents into lists of about `BATCH_BYTES` characters."""
    batch: list[str] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document)
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@dataclass
class _Writer:
    """Collects the documents of one split and writes them a batch at a time."""

    path: Path
    documents: int = 0
    tokens: int = 0
    bytes: int = 0
    waiting: list[str] = field(default_factory=list)
    waiting_size: int = 0

    def __enter__(self) -> _Writer:
        self.file: BinaryIO = self.path.open("wb")
        self.sha256 = hashlib.sha256()
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def add(self, document: str, tokenizer: Tokenizer) -> None:
        self.waiting.append(document)
        self.waiting_size += len(document)
        if self.waiting_size >= BATCH_BYTES:
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
