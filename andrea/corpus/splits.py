"""Which documents of a source are for training, for the probe reward and for evaluation.

Decided by the hash of a document's text alone, so that neither order nor other documents matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from andrea.common.errors import UserError
from andrea.config.text import Documents as Settings
from andrea.corpus.documents import Documents

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


def held_out(train: Documents, evaluation: Documents | None, val_share: float) -> frozenset[bytes]:
    """Digests of the documents that no training may see.

    Args:
        train: training documents.
        evaluation: the source's own evaluation documents; without any, some of `train` are taken.
        val_share: of them, by hash.

    Raises:
        UserError: a file cannot be read, or no held-out document has any text.
    """
    documents = train if evaluation is None else evaluation
    found = frozenset(digest(document) for document in documents)
    if evaluation is None:
        found = _below(sorted(found), val_share, VAL_HALF)
    if found <= {digest("")}:
        raise UserError(
            f"{documents.path}: no held-out document has any text; add some or remove the source"
            " from `sources`"
        )
    return found


def training_documents(train: Documents, val: frozenset[bytes]) -> Iterator[str]:
    """Yield the documents of `train` that are not held out."""
    return (document for document in train if digest(document) not in val)


def held_out_documents(
    train: Documents, evaluation: Documents | None, val: frozenset[bytes]
) -> Iterator[str]:
    """Yield the held-out documents, from the evaluation documents if there are any."""
    documents = train if evaluation is None else evaluation
    return (document for document in documents if digest(document) in val)


def split(
    train: Documents,
    evaluation: Documents | None,
    val: frozenset[bytes],
    removed: frozenset[bytes],
    settings: Settings,
) -> Split:
    """Decide where each document of a source goes.

    Args:
        train: training documents.
        evaluation: the source's own evaluation documents, if it has any.
        val: digests of what is held out.
        removed: digests of what goes nowhere.
        settings: the share for probes.

    Raises:
        UserError: there are too few different documents for the splits.
    """
    documents = [digest(document) for document in train]
    unique = sorted(set(documents))
    outside = [name for name in unique if name not in val]
    left = [name for name in outside if name not in removed]
    probe = _below(left, settings.probe_share, PROBE_HALF) if left else frozenset()
    if len(left) <= len(probe):
        repeats = len(unique) - len(outside)
        needed = "train, probe and val" if evaluation is None else "train and probe"
        raise UserError(
            f"{train.path}: {len(unique)} different documents"
            + (f", {repeats} of them also in {evaluation.path}" if evaluation and repeats else "")
            + (f", {len(outside) - len(left)} of them near held-out ones" if removed else "")
            + f", too few to split into {needed}; add documents or remove the source from `sources`"
        )
    own = len(val) if evaluation is None else 0
    repeated = 0 if evaluation is None else sum(1 for _ in evaluation) - len(val)
    duplicates = {
        "train": len(documents) - len(unique),
        "val": repeated,
        "train_in_val": len(unique) - len(outside) - own,
    }
    return Split(val, probe, duplicates)


def _below(names: list[bytes], share: float, half: slice) -> frozenset[bytes]:
    """Names whose half, read as a fraction of 1, lies below `share`; at least the smallest."""
    chosen = [name for name in names if int.from_bytes(name[half], "big") < share * 2**64]
    return frozenset(chosen or sorted(names, key=lambda name: name[half])[:1])
