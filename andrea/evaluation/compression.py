"""Held-out bits per byte of `xz -9e` that has read the training text before."""

from __future__ import annotations

import lzma
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

SEPARATOR = b"\n"


def joined(documents: Sequence[str]) -> bytes:
    """Documents in order as UTF-8, one newline between two."""
    return SEPARATOR.join(document.encode() for document in documents)


def primed_bits_per_byte(
    texts: Mapping[str, tuple[Sequence[str], Sequence[str]]], threads: int
) -> dict[str, float]:
    """What each held-out text adds to the compressed size of its own training text.

    8 * (size(train + val) - size(train)) / bytes(val). The separators are compressed too, but do
    not count as bytes of text. A source without training text is compressed alone.

    Args:
        texts: training and held-out documents by source; there is held-out text for each.
        threads: compressions at a time; the result does not depend on it.

    Returns:
        Bits per UTF-8 byte by source.
    """
    with ThreadPoolExecutor(threads) as pool:
        pending = {}
        for source, (train, val) in texts.items():
            head, whole = joined(train), joined([*train, *val])
            dictionary = max(4096, 1 << (len(whole) - 1).bit_length())
            pending[source] = [pool.submit(_size, text, dictionary) for text in (whole, head)]
        return {
            source: 8
            * (whole.result() - head.result())
            / sum(len(document.encode()) for document in texts[source][1])
            for source, (whole, head) in pending.items()
        }


def _size(text: bytes, dictionary: int) -> int:
    """Bytes of the `xz -9e` file; the dictionary spans the whole text, so nothing is forgotten."""
    preset = 9 | lzma.PRESET_EXTREME
    filters = [{"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": dictionary}]
    return len(lzma.compress(text, filters=filters))
