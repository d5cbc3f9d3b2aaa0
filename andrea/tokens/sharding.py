"""From the documents of a source to its shard: split, looked through, tokenized, written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Self

from andrea.common import files
from andrea.config.text import Documents as Settings
from andrea.corpus import near, splits
from andrea.corpus.documents import Documents
from andrea.corpus.splits import digest
from andrea.tokens.encoding import BATCH_CHARACTERS, encode_documents
from andrea.tokens.shards import FORMAT, SPLITS
from andrea.tokens.tokenizer import Tokenizer


def write(
    folder: Path,
    train: Documents,
    held_out: Documents | None,
    tokenizer_file: Path,
    settings: Settings,
) -> dict[str, Any]:
    """Tokenize one source into `folder`, which takes its place when it is whole.

    Args:
        folder: of the shard; its name is the source's.
        train: training documents, read a few times.
        held_out: the source's own evaluation documents; without any, the share `val_share` of the
            training documents is held out by hash.
        tokenizer_file: of the tokens.
        settings: how it is split, and what is left out.

    Returns:
        The manifest, as written to `manifest.json`.

    Raises:
        UserError: a file cannot be read, or there are too few documents for the splits.
    """
    tokenizer = Tokenizer.load(tokenizer_file)
    val = splits.held_out(train, held_out, settings.val_share)
    alike = _near_held_out(train, held_out, val, settings)
    removed = alike if settings.near_duplicates == "remove" else frozenset()
    split = splits.split(train, held_out, val, removed, settings)
    with files.whole_folder(folder) as part:
        writers = {name: _Writer(part / f"{name}.bin") for name in SPLITS}
        inputs = {"train": _Digest(), "eval": _Digest()}
        masked: dict[str, int] = {}
        with writers["train"], writers["probe"], writers["val"]:
            seen = set(removed)
            if held_out is not None:
                for document in inputs["eval"].over(held_out.read(masked)):
                    if (name := digest(document)) not in seen:
                        seen.add(name)
                        writers["val"].add(document, tokenizer)
            for document in inputs["train"].over(train.read(masked)):
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
            "near_duplicates": {"handling": settings.near_duplicates, "train_of_val": len(alike)},
            "personal_data": {"handling": settings.personal_data, "masked": masked},
            "inputs": {
                "train": inputs["train"].hex,
                "eval": None if held_out is None else inputs["eval"].hex,
                "tokenizer": files.sha256(tokenizer_file),
            },
        }
        files.write_json(part / "manifest.json", manifest)
    return manifest


def _near_held_out(
    train: Documents, held_out: Documents | None, val: frozenset[bytes], settings: Settings
) -> frozenset[bytes]:
    """Digests of training documents that say nearly what a held-out one says, if that is asked for.

    Args:
        train: training documents.
        held_out: evaluation documents; None where they are split off.
        val: digests of the documents that are held out.
        settings: whether and how near.
    """
    if settings.near_duplicates == "keep":
        return frozenset()
    return near.near(
        splits.training_documents(train, val),
        splits.held_out_documents(train, held_out, val),
        settings.near_threshold,
    )


class _Digest:
    """SHA-256 over the digests of documents that pass by."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()

    def over(self, documents: Iterator[str]) -> Iterator[str]:
        for document in documents:
            self._sha256.update(digest(document))
            yield document

    @property
    def hex(self) -> str:
        return self._sha256.hexdigest()


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
