"""What models without a network reach on the same held-out text.

The n-gram models read the training tokens of all sources together, every document once: like the
network they are one model for all sources, and they are not told the source. Weighting sources
would need fractional counts, for which Kneser-Ney is not defined. Tokens and the bytes they stand
for are those of the network, so bits per byte compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from andrea.evaluation import compression, ngram

Tokens = NDArray[np.integer]
ORDER = 5


def baselines(
    streams: Mapping[str, tuple[Tokens, Tokens]],
    byte_lengths: NDArray[np.integer],
    texts: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    bos: int,
    threads: int,
) -> dict[str, dict[str, Any]]:
    """Held-out bits per byte of xz and of the n-gram models.

    Args:
        streams: training and held-out tokens by source. A source with no training tokens is out of
            domain: it is scored, but is not part of the mean or the worst.
        byte_lengths: UTF-8 bytes of each token, 0 for BOS, (V,).
        texts: training and held-out documents by source.
        bos: the token that begins a document.
        threads: compressions at a time; the result does not depend on it.

    Returns:
        By baseline: `bits_per_byte` by source, `macro_mean`, `worst_source` and `worst`.
    """
    trained = [source for source, (train, _) in streams.items() if len(train)]
    figures = ngram_bits_per_byte(streams, byte_lengths, bos)
    figures["xz"] = compression.primed_bits_per_byte(texts, threads)
    return {name: _summary(by_source, trained) for name, by_source in figures.items()}


def ngram_bits_per_byte(
    streams: Mapping[str, tuple[Tokens, Tokens]], byte_lengths: NDArray[np.integer], bos: int
) -> dict[str, dict[str, float]]:
    """Bits per byte by model and source; arguments as in `baselines`."""
    vocabulary = len(byte_lengths)
    train = np.concatenate([train for train, _ in streams.values()])
    tables = ngram.count(train, vocabulary, bos, ORDER)
    witten_bell = ngram.witten_bell(tables)
    models = {
        "unigram": witten_bell[:1],
        "witten_bell_3gram": witten_bell[:3],
        "witten_bell_5gram": witten_bell,
        "kneser_ney_3gram": ngram.kneser_ney(tables[:3]),
        "kneser_ney_5gram": ngram.kneser_ney(tables),
    }
    figures: dict[str, dict[str, float]] = {name: {} for name in models}
    for source, (_, val) in streams.items():
        places = ngram.locate(val, tables, vocabulary, bos)
        for name, levels in models.items():
            bits = -np.log2(ngram.probabilities(levels, places, vocabulary)).sum()
            figures[name][source] = float(bits / byte_lengths[val].sum())
    return figures


def _summary(by_source: Mapping[str, float], trained: Sequence[str]) -> dict[str, Any]:
    worst = max(trained, key=lambda source: by_source[source])
    return {
        "bits_per_byte": dict(by_source),
        "macro_mean": float(np.mean([by_source[source] for source in trained])),
        "worst_source": worst,
        "worst": by_source[worst],
    }
