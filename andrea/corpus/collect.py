"""From the text of a source to its documents: read once, each kept once, split, written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
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
        marks: what was masked, by kind.
        sha256: over the digests of all documents of the text, in its order.
    """

    path: Path
    file: Path
    copies: dict[bytes, int] = field(default_factory=dict)
    marks: dict[str, int] = field(default_factory=dict)
    sha256: str = ""

    @property
    def repeated(self) -> int:
        """Documents that stood there before."""
        return sum(self.copies.values()) - len(self.copies)


def write(folder: Path, train: Text, evaluation: Text | None, settings: Settings) -> dict[str, Any]:
    """Write the documents of one source into `folder`, which takes its place when it is whole.

    Kept in memory are a digest of every document, and shingles of held-out ones.

    Args:
        folder: its name is the source's.
        train: training text, read once.
        evaluation: the source's own evaluation text, read once; without any, the share `val_share`
            of the training documents is held out by hash.
        settings: how it is split, and what is left out.

    Returns:
        The manifest, as written.

    Raises:
        UserError: a file cannot be read, or there are too few documents for the splits.
    """
    with files.whole_folder(folder) as part:
        # Splits are of documents, copies apart, and near-duplicates of held-out text can be told
        # once all of that is known: what a slow reader yields is kept on disk until then.
        own = None if evaluation is None else collect(evaluation, part / "evaluation.part")
        if own is not None:
            val = splits.held_out(own.copies, None, own.path)
        training = collect(train, part / "training.part")
        if own is None:
            val = splits.held_out(training.copies, settings.val_share, training.path)
        near_val = _near_held_out(training, own or training, val, settings)
        removed = near_val if settings.near_duplicates == "remove" else frozenset()
        probe = _probe(training, own, val, removed, settings.probe_share)
        with ExitStack() as stack:
            writers = {
                name: stack.enter_context(Writer(part / f"{name}.parquet")) for name in SPLITS
            }
            for document, _ in _counted(own) if own else ():
                writers["val"].add(document)
            for document, name in _counted(training):
                if name in val:
                    if own is None:
                        writers["val"].add(document)
                elif name not in removed:
                    writers["probe" if name in probe else "train"].add(document)
        marks = dict(training.marks)
        for mark, count in own.marks.items() if own else ():
            marks[mark] = marks.get(mark, 0) + count
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
        for collected in (training, own):
            if collected is not None:
                collected.file.unlink()
        files.write_json(part / MANIFEST, manifest)
    return manifest


def write_held_out(folder: Path, text: Text) -> dict[str, Any]:
    """Write a text that is only for evaluation, such as that of no source: all of it is `val`.

    Raises:
        UserError: a file cannot be read.
    """
    with files.whole_folder(folder) as part:
        collected = collect(text, part / "evaluation.part")
        with Writer(part / "val.parquet") as writer:
            for document, _ in _counted(collected):
                writer.add(document)
        collected.file.unlink()
        manifest = {
            "format": FORMAT,
            "source": folder.name,
            "splits": {"val": writer.summary()},
            "duplicates": {"val": collected.repeated},
            "inputs": {"eval": collected.sha256},
        }
        files.write_json(part / MANIFEST, manifest)
    return manifest


def collect(text: Text, file: Path) -> Collected:
    """Read a text once and keep each of its different documents in `file`.

    Raises:
        UserError: it cannot be read.
    """
    collected = Collected(text.path, file)
    copies = collected.copies
    sha256 = hashlib.sha256()
    with Writer(file) as writer:
        for document in text.read(collected.marks):
            name = digest(document)
            sha256.update(name)
            if name not in copies:
                writer.add(Document(document, len(copies), 1))
            copies[name] = copies.get(name, 0) + 1
    collected.sha256 = sha256.hexdigest()
    return collected


def _counted(collected: Collected) -> Iterator[tuple[Document, bytes]]:
    """Documents with how often each stands in the text, and their digests."""
    for document, (name, copies) in zip(
        read(collected.file), collected.copies.items(), strict=True
    ):
        yield document._replace(copies=copies), name


def _near_held_out(
    training: Collected, held_out: Collected, val: frozenset[bytes], settings: Settings
) -> frozenset[bytes]:
    """Digests of training documents that say nearly what a held-out one says, if that is asked for.

    Args:
        training: documents.
        held_out: where those with digests in `val` stand; may be `training`.
        val: digests of the documents that are held out.
        settings: whether and how near.
    """
    if settings.near_duplicates == "keep":
        return frozenset()
    return near.near(
        (document.text for document, name in _counted(training) if name not in val),
        (document.text for document, name in _counted(held_out) if name in val),
        settings.near_threshold,
    )


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
