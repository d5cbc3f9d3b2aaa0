"""Which documents of a source are for training, for the probe reward and for evaluation.

Decided by the hash of a document's text alone: neither its place nor the other documents matter, so
that text which is added later moves no document from one split into another, and a copy always
falls where its original fell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from andrea.common.errors import UserError
from andrea.corpus.documents import digest

# Of the digest: were one half to decide about both, the probes of a source without evaluation text
# of its own would all have fallen to its held-out text first.
VAL_HALF = slice(0, 8)
PROBE_HALF = slice(8, 16)


def held_out(digests: Iterable[bytes], share: float | None, path: Path) -> frozenset[bytes]:
    """Digests of the documents that no training may see.

    Args:
        digests: of a source's own evaluation documents, or of its training documents.
        share: of the latter that is held out, by hash; None holds out all, as of the former.
        path: of that text, for messages.

    Raises:
        UserError: no held-out document has any text.
    """
    val = frozenset(digests)
    if share is not None:
        val = below(val, share, VAL_HALF)
    if val <= {digest("")}:
        raise UserError(
            f"{path}: no held-out document has any text; add some or remove the source from"
            " `sources`"
        )
    return val


def probes(left: Collection[bytes], share: float) -> frozenset[bytes]:
    """Digests of the documents that are for the probe reward, of those left for training."""
    return below(left, share, PROBE_HALF)


def below(digests: Collection[bytes], share: float, half: slice) -> frozenset[bytes]:
    """Digests whose half, read as a fraction of 1, lies below `share`; at least the smallest."""
    chosen = [name for name in digests if int.from_bytes(name[half], "big") < share * 2**64]
    return frozenset(chosen or sorted(digests, key=lambda name: (name[half], name))[:1])
