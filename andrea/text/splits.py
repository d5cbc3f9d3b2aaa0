"""Which documents of a source are for training, for the probe reward and for evaluation.

Decided by the hash of a document's text alone, so that neither order nor other documents matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from andrea.config.shard import Shard as Settings
from andrea.errors import UserError
from andrea.text import sources

SPLITS = ("train", "probe", "val")
VAL_HALF = slice(0, 8)
PROBE_HALF = slice(8, 16)


@dataclass(frozen=True)
class Split:
    """Digests of the documents that are not for training, and duplicates dropped by reason."""

    val: frozenset[bytes]
    probe: frozenset[bytes]
    duplicates: Mapping[str, int]

    def place(self, name: bytes) -> str:
        """The split of the document with digest `name`."""
        return "val" if name in self.val else "probe" if name in self.probe else "train"


def digest(document: str) -> bytes:
    """16 bytes that name a document; one half decides about val, the other about probe."""
    return hashlib.blake2b(document.encode(), digest_size=16).digest()


def held_out(train: Path, evaluation: Path | None, val_share: float) -> frozenset[bytes]:
    """Digests of the documents that no training may see.

    Args:
        evaluation: the source's own evaluation file; without one, documents of `train` are taken.

    Raises:
        UserError: a file cannot be read, or no held-out document has any text.
    """
    path = train if evaluation is None else evaluation
    found = frozenset(digest(document) for document in sources.read(path))
    if evaluation is None:
        found = _below(sorted(found), val_share, VAL_HALF)
    if found <= {digest("")}:
        raise UserError(
            f"{path}: no held-out document has any text; add some or remove the source from"
            " `sources`"
        )
    return found


def training_documents(train: Path, val: frozenset[bytes]) -> Iterator[str]:
    """Yield the documents of `train` that are not held out."""
    return (document for document in sources.read(train) if digest(document) not in val)


def held_out_documents(
    train: Path, evaluation: Path | None, val: frozenset[bytes]
) -> Iterator[str]:
    """Yield the held-out documents, from the evaluation file if there is one."""
    path = train if evaluation is None else evaluation
    return (document for document in sources.read(path) if digest(document) in val)


def split(train: Path, evaluation: Path | None, settings: Settings) -> Split:
    """Decide where each document of a source goes; both files are read once more than written.

    Raises:
        UserError: there are too few different documents for the splits.
    """
    val = held_out(train, evaluation, settings.val_share)
    documents = [digest(document) for document in sources.read(train)]
    unique = sorted(set(documents))
    left = [name for name in unique if name not in val]
    probe = _below(left, settings.probe_share, PROBE_HALF)
    if len(left) <= len(probe):
        needed = "train, probe and val" if evaluation is None else "train and probe"
        raise UserError(
            f"{train}: {len(unique)} different documents, too few to split into {needed}; "
            "add documents or remove the source from `sources`"
        )
    own = len(val) if evaluation is None else 0
    repeated = 0 if evaluation is None else sum(1 for _ in sources.read(evaluation)) - len(val)
    duplicates = {
        "train": len(documents) - len(unique),
        "val": repeated,
        "train_in_val": len(unique) - len(left) - own,
    }
    return Split(val, probe, duplicates)


def _below(names: list[bytes], share: float, half: slice) -> frozenset[bytes]:
    """Names whose half, read as a fraction of 1, lies below `share`; at least the smallest."""
    chosen = [name for name in names if int.from_bytes(name[half], "big") < share * 2**64]
    return frozenset(chosen or sorted(names, key=lambda name: name[half])[:1])
