"""How often the text of a sequence stands in training data, token by token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Stream = NDArray[np.uint16]

WINDOW_TOKENS = 32  # about 100 bytes; what memorisation is measured with
CHUNK_TOKENS = 1 << 22  # of a stream that are in memory at a time


@dataclass(frozen=True)
class Repeats:
    """The stretches of a sequence against a stream.

    Attributes:
        count: occurrences of the stretch that occurs most, itself included, overlaps not counted.
        start: where it begins in the sequence, in tokens; the first of equals.
        length: its tokens.
        share: stretches of the sequence that occur more than once.
    """

    count: int
    start: int
    length: int
    share: float

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return vars(self).copy()


def find(tokens: Stream, stream: Stream) -> Repeats:
    """Count the stretches of `WINDOW_TOKENS` that a sequence divides into, in a stream.

    Where documents are cut into sequences elsewhere, the stretches still occur, as they are sought
    at every token. What remains at the sequence's end is left out.

    Args:
        tokens: of the sequence, (n,), at least one.
        stream: to search, (tokens,).
    """
    length = min(WINDOW_TOKENS, len(tokens))
    starts = range(0, len(tokens) - length + 1, length)
    needles = [tokens[start : start + length].astype("<u2").tobytes() for start in starts]
    counts = _counts(needles, stream)
    most = int(np.argmax(counts))
    share = sum(count > 1 for count in counts) / len(counts)
    return Repeats(counts[most], starts[most], length, share)


def _counts(needles: list[bytes], stream: Stream) -> list[int]:
    """Occurrences of each needle; all have one length. An occurrence starts behind the last one."""
    length = len(needles[0]) // 2
    counts = [0] * len(needles)
    free = [0] * len(needles)  # first token at which a needle may occur next
    for first, text in _chunks(stream, length):
        for which, needle in enumerate(needles):
            at = text.find(needle, 2 * max(0, free[which] - first))
            while at >= 0:
                if at % 2:
                    at = text.find(needle, at + 1)
                    continue
                counts[which] += 1
                free[which] = first + at // 2 + length
                at = text.find(needle, at + 2 * length)
    return counts


def _chunks(stream: Stream, length: int) -> Iterator[tuple[int, bytes]]:
    """First token and bytes of each chunk; a stretch of `length` tokens lies whole in one only."""
    for first in range(0, max(1, len(stream) - length + 1), CHUNK_TOKENS):
        last = first + CHUNK_TOKENS + length - 1
        yield first, np.asarray(stream[first:last]).astype("<u2").tobytes()
