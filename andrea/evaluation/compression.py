"""How much `xz -9e` needs for a text when it has read another one before."""

from __future__ import annotations

import lzma
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor


def growth(texts: Mapping[str, tuple[bytes, bytes]], threads: int) -> dict[str, int]:
    """Bytes by which each compressed file grows when the second text follows the first.

    Args:
        texts: by source, what is read before, and what is measured.
        threads: compressions at a time; the result does not depend on it.

    Returns:
        size(first + second) - size(first) by source, in bytes.
    """
    with ThreadPoolExecutor(threads) as pool:
        pending = {}
        for source, (before, measured) in texts.items():
            whole = before + measured
            dictionary = max(4096, 1 << (len(whole) - 1).bit_length())
            pending[source] = [pool.submit(_size, text, dictionary) for text in (whole, before)]
        return {
            source: whole.result() - before.result() for source, (whole, before) in pending.items()
        }


def _size(text: bytes, dictionary: int) -> int:
    """Bytes of the `xz -9e` file; the dictionary spans the whole text, so nothing is forgotten."""
    preset = 9 | lzma.PRESET_EXTREME
    filters = [{"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": dictionary}]
    return len(lzma.compress(text, filters=filters))
