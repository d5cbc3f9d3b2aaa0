"""What models without a network reach on the same held-out text.

The n-gram models read the training tokens of all sources together, every document once: like the
network they are one model for all sources, and are not told the source. Weighting sources would
need fractional counts, for which Kneser-Ney is not defined. xz reads the source's own training
text before, the best case for it.
"""

from __future__ import annotations

import lzma
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from andrea.evaluation import ngram

Sides = tuple[NDArray[np.integer], NDArray[np.integer]]
BySource = dict[str, float]
ORDER = 5


def baselines(
    sides: Mapping[str, Sides], pieces: Sequence[bytes], bos: int, threads: int
) -> dict[str, dict[str, Any]]:
    """Held-out bits per byte of xz and of the n-gram models.

    Args:
        sides: training and held-out tokens by source, documents with BOS before each. A source
            with no training tokens is out of domain: it is scored, but is not part of the mean or
            the worst, and xz has read nothing before it.
        pieces: bytes of each token, none for BOS, V of them.
        bos: the token that begins a document.
        threads: compressions at a time; the result does not depend on it.

    Returns:
        By baseline: `bits_per_byte` by source, `macro_mean`, `worst_source` and `worst`.
    """
    trained = [source for source, (train, _) in sides.items() if len(train)]
    bits = {
        "xz": xz_bits_per_byte(sides, pieces, bos, threads),
        **ngram_bits_per_byte(sides, pieces, bos),
    }
    return {
        name: {"bits_per_byte": by_source, **mean_and_worst(by_source, trained)}
        for name, by_source in bits.items()
    }


def mean_and_worst(by_source: Mapping[str, float], trained: Sequence[str]) -> dict[str, Any]:
    """`macro_mean`, `worst` and `worst_source` over the trained sources."""
    worst = max(trained, key=lambda source: by_source[source])
    mean = float(np.mean([by_source[source] for source in trained]))
    return {"macro_mean": mean, "worst": by_source[worst], "worst_source": worst}


def xz_bits_per_byte(
    sides: Mapping[str, Sides], pieces: Sequence[bytes], bos: int, threads: int
) -> dict[str, float]:
    """Bits per byte of `xz -9e` by source; arguments as in `baselines`.

    The text is that of the tokens, with a newline before each document; newlines that divide
    documents are compressed, but do not count as bytes of text.
    """
    letters = [*pieces]
    letters[bos] = b"\n"
    lengths = _lengths(pieces)
    texts = {
        source: (_text(train, letters), _text(val, letters))
        for source, (train, val) in sides.items()
    }
    return {
        source: float(8 * grown / lengths[sides[source][1]].sum())
        for source, grown in growth(texts, threads).items()
    }


def growth(texts: Mapping[str, tuple[bytes, bytes]], threads: int) -> dict[str, int]:
    """Bytes by which each file of `xz -9e` grows when the second text follows the first."""
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


def ngram_bits_per_byte(
    sides: Mapping[str, Sides], pieces: Sequence[bytes], bos: int
) -> dict[str, BySource]:
    """Bits per byte by n-gram model and source; arguments as in `baselines`."""
    vocabulary, lengths = len(pieces), _lengths(pieces)
    train = np.concatenate([train for train, _ in sides.values()])
    tables = ngram.count(train, vocabulary, bos, ORDER)
    witten_bell = ngram.witten_bell(tables)
    models = {
        "unigram": witten_bell[:1],
        "witten_bell_3gram": witten_bell[:3],
        "witten_bell_5gram": witten_bell,
        "kneser_ney_3gram": ngram.kneser_ney(tables[:3]),
        "kneser_ney_5gram": ngram.kneser_ney(tables),
    }
    bits: dict[str, BySource] = {name: {} for name in models}
    for source, (_, val) in sides.items():
        places = ngram.locate(val, tables, vocabulary, bos)
        for name, levels in models.items():
            total = -np.log2(ngram.probabilities(levels, places, vocabulary)).sum()
            bits[name][source] = float(total / lengths[val].sum())
    return bits


def _lengths(pieces: Sequence[bytes]) -> NDArray[np.int64]:
    return np.array([len(piece) for piece in pieces], np.int64)


def _text(tokens: NDArray[np.integer], letters: Sequence[bytes]) -> bytes:
    return b"".join([letters[token] for token in tokens.tolist()])
