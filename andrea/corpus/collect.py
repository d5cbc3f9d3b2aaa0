"""From the text of a source to its documents: read once, each kept once, split, written."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from andrea.common import files
from andrea.common.errors import UserError
from andrea.config.text import Documents as Settings
from andrea.corpus import near, splits
from andrea.corpus.documents import FORMAT, MANIFEST, SPLITS, Document, Writer, digest, read
from andrea.corpus.text import Text


@dataclass
class Collected:
    """Different documents of one text, in a file, in the order in which each stood there first.

    Attributes:
        path: of the text.
        file: of the documents, whose `copies` are not known yet.
        copies: how often each stands in the text, by digest, in the order of the file.
        sha256: over the digests of all documents of the text, in its order.
    """

    path: Path
    file: Path
    copies: dict[bytes, int]
    sha256: str

    def __iter__(self) -> Iterator[tuple[bytes, Document]]:
        """Digests and documents, which now have their `copies`."""
        for document, (name, copies) in zip(read(self.file), self.copies.items(), strict=True):
            yield name, document._replace(copies=copies)

    @property
    def repeated(self) -> int:
        """Documents that stood there before."""
        return sum(self.copies.values()) - len(self.copies)


def write(folder: Path, train: Text, evaluation: Text | None, settings: Settings) -> dict[str, Any]:
    """Write the documents of one source into `folder`, which takes its place when it is whole.

    Both texts are read once; without an evaluation text of the source's own, the share `val_share`
    of the training documents is held out by hash. Kept in memory are a digest of every document,
    and shingles of held-out ones. Returned is the manifest.

    Raises:
        UserError: a file cannot be read, or there are too few documents for the splits.
    """
    marks: Counter[str] = Counter()
    # A document's split, and whether it is near to held-out text, can be told when all are known:
    # what a slow reader yields is kept on disk until then.
    with files.whole_folder(folder) as part, TemporaryDirectory(dir=part) as unsplit:
        own = None
        if evaluation is not None:
            own = _collect(evaluation, Path(unsplit, "evaluation"), marks)
            val = splits.held_out(own.copies, None, own.path)
        training = _collect(train, Path(unsplit, "training"), marks)
        if own is None:
            val = splits.held_out(training.copies, settings.val_share, training.path)
        near_val: frozenset[bytes] = frozenset()
        if settings.near_duplicates != "keep":
            near_val = near.near(
                (document.text for name, document in training if name not in val),
                (document.text for name, document in own or training if name in val),
                settings.near_threshold,
            )
        removed = near_val if settings.near_duplicates == "remove" else frozenset()
        probe = _probe(training, own, val, removed, settings.probe_share)
        with ExitStack() as stack:
            writers = {
                name: stack.enter_context(Writer(part / f"{name}.parquet")) for name in SPLITS
            }
            for _, document in own or ():
                writers["val"].add(document)
            for name, document in training:
                if name in val:
                    if own is None:
                        writers["val"].add(document)
                elif name not in removed:
                    writers["probe" if name in probe else "train"].add(document)
        manifest = {
            "format": FORMAT,
            "source": folder.name,
            "splits": {name: writer.summary() for name, writer in writers.items()},
            "duplicates": {
                "train": training.repeated,
                "val": own.repeated if own else 0,
                "train_in_val": len(val & training.copies.keys()) if own else 0,
            },
            "near_duplicates": {
                "handling": settings.near_duplicates, "train_of_val": len(near_val)
            },
            "personal_data": {"handling": settings.personal_data, "masked": marks},
            "inputs": {"train": training.sha256, "eval": own.sha256 if own else None},
        }  # fmt: skip
        files.write_json(part / MANIFEST, manifest)
    return manifest


def write_held_out(folder: Path, text: Text) -> dict[str, Any]:
    """Write a text that is only for evaluation, such as that of no source: all of it is `val`.

    Raises:
        UserError: a file cannot be read.
    """
    with files.whole_folder(folder) as part, TemporaryDirectory(dir=part) as unsplit:
        collected = _collect(text, Path(unsplit, "evaluation"), Counter())
        with Writer(part / "val.parquet") as writer:
            for _, document in collected:
                writer.add(document)
        manifest = {
            "format": FORMAT,
            "source": folder.name,
            "splits": {"val": writer.summary()},
            "duplicates": {"val": collected.repeated},
            "inputs": {"eval": collected.sha256},
        }
        files.write_json(part / MANIFEST, manifest)
    return manifest


def _collect(text: Text, file: Path, marks: Counter[str]) -> Collected:
    """Read a text once and keep each of its different documents; `marks` counts what was masked."""
    copies: Counter[bytes] = Counter()
    sha256 = hashlib.sha256()
    with Writer(file) as writer:
        for document in text.read(marks):
            name = digest(document)
            sha256.update(name)
            if name not in copies:
                writer.add(Document(document, len(copies), 1))
            copies[name] += 1
    return Collected(text.path, file, copies, sha256.hexdigest())


def _probe(
    training: Collected,
    own: Collected | None,
    val: frozenset[bytes],
    removed: frozenset[bytes],
    share: float,
) -> frozenset[bytes]:
    """Digests of the documents that are kept apart for the probe reward.

    Raises:
        UserError: there are too few different documents for the splits.
    """
    outside = [name for name in training.copies if name not in val]
    left = [name for name in outside if name not in removed]
    probe = splits.probes(left, share)
    if len(left) > len(probe):
        return probe
    different = len(training.copies)
    repeats = different - len(outside)
    needed = "train, probe and val" if own is None else "train and probe"
    raise UserError(
        f"{training.path}: {different} different documents"
        + (f", {repeats} of them also in {own.path}" if own and repeats else "")
        + (f", {len(outside) - len(left)} of them near held-out ones" if removed else "")
        + f", too few to split into {needed}; add documents or remove the source from `sources`"
    )
