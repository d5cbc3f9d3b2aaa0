"""In how many documents of the training data the text of a sequence stands, token by token."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Stream = NDArray[np.uint16]

WINDOW_TOKENS = 32  # about 100 bytes; what memorisation is measured with
CHUNK_TOKENS = 1 << 22  # of a stream that are in memory at a time


@dataclass(frozen=True)
class Repeats:
    """The stretches of a sequence against a stream of documents."""

    documents: int  # that hold the stretch which most hold
    start: int  # where this begins in the sequence, in tokens; the first of equals
    length: int  # its tokens
    quarter: int  # documents that hold each of a quarter of the stretches, the commonest


def find(tokens: Stream, stream: Stream, separator: int) -> Repeats:
    """Count the documents that hold the stretches of `WINDOW_TOKENS` a sequence divides into.

    Documents, because the lines of one drawn table repeat too and are no ravine. Wherever sequences
    cut the documents, the stretches are found, as they are sought at every token; what remains at
    the sequence's end is left out. A stretch counts for the document in which it begins.

    Args:
        tokens: of the sequence, (n,), at least one.
        stream: to search, (tokens,); `CHUNK_TOKENS` of it are in memory at a time.
        separator: token that every document begins with.
    """
    length = min(WINDOW_TOKENS, len(tokens))
    starts = range(0, len(tokens) - length + 1, length)
    stretches = [_bytes(tokens[start : start + length]) for start in starts]
    counts = _documents(stretches, length, stream, separator)
    most = int(np.argmax(counts))
    return Repeats(counts[most], starts[most], length, sorted(counts)[-1 - (len(counts) - 1) // 4])


def _documents(stretches: list[bytes], length: int, stream: Stream, separator: int) -> list[int]:
    """Documents in which each of the stretches, all of `length` tokens, begins."""
    counts, latest = [0] * len(stretches), [-1] * len(stretches)
    earlier = 0  # documents that began before the chunk
    for first in range(0, max(1, len(stream) - length + 1), CHUNK_TOKENS):
        chunk = np.asarray(stream[first : first + CHUNK_TOKENS + length - 1])
        borders = np.flatnonzero(chunk[:CHUNK_TOKENS] == separator).tolist()
        text = _bytes(chunk)
        for which, stretch in enumerate(stretches):
            at = _find(text, stretch, 0)
            while at >= 0:
                begun = bisect_right(borders, at)
                if latest[which] != earlier + begun:
                    latest[which] = earlier + begun
                    counts[which] += 1
                at = _find(text, stretch, borders[begun]) if begun < len(borders) else -1
        earlier += len(borders)
    return counts


def _find(text: bytes, stretch: bytes, start: int) -> int:
    """First token from `start` on at which the stretch begins, -1 if there is none."""
    at = text.find(stretch, 2 * start)
    while at >= 0 and at % 2:  # the second byte of one token and the first of the next
        at = text.find(stretch, at + 1)
    return at // 2


def _bytes(tokens: Stream) -> bytes:
    return np.asarray(tokens, dtype="<u2").tobytes()
