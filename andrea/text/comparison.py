"""How well an alphabet spells held-out text, beside the library's own BPE and Unigram.

All three learn from one weighted sample of the training text and get the same number of ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import decoders, models, pre_tokenizers, trainers

from andrea.config.tokenizer import Tokenizer as Settings
from andrea.text import learning
from andrea.text.sources import batches
from andrea.text.tokenizer import BOS_PIECE, BYTES, build

# Unigram's trainer at its defaults takes minutes: fewer seeds and rounds cost it about 1 % here.
UNIGRAM_SEEDS_PER_ID = 16
UNIGRAM_ROUNDS = 1
UNIGRAM_SHRINK = 0.6


@dataclass(frozen=True)
class Usage:
    """What one source's text became: its bytes and words, and (V,) how often each id."""

    bytes: int
    words: int
    ids: NDArray[np.int64]


def sample(
    training: Callable[[str], Iterable[str]], n_bytes: Mapping[str, int], settings: Settings
) -> dict[str, list[str]]:
    """About `comparison_bytes` of training text, each source with its share, chosen by hash.

    Args:
        training: the training documents of a source.
        n_bytes: bytes of each source's training text; one that is too short is taken whole.
    """
    total = sum(settings.weights.get(source, 0.0) for source in n_bytes)
    taken = {}
    for source, size in n_bytes.items():
        wanted = settings.comparison_bytes * settings.weights.get(source, 0.0) / total
        taken[source] = list(_thinned(training(source), wanted / size)) if wanted > 0 else []
    return taken


def _thinned(documents: Iterable[str], share: float) -> Iterator[str]:
    for document in documents:
        name = hashlib.blake2b(document.encode(), digest_size=8).digest()
        if int.from_bytes(name, "big") < share * 2**64:
            yield document


def compare(
    sampled: Mapping[str, list[str]],
    held_out: Callable[[], Mapping[str, Iterable[str]]],
    segments: int,
    settings: Settings,
) -> dict[str, Any]:
    """Train Harris, BPE and Unigram on one sample and measure all three on held-out text."""
    texts = [document for documents in sampled.values() for document in documents]
    words = learning.mix({"sample": learning.count(texts)}, {"sample": 1.0})
    size = BYTES + segments
    rivals = {
        "harris": build(learning.learn(words, segments, settings)),
        "bpe": bpe(texts, size),
        "unigram": unigram(texts, size),
    }
    report: dict[str, Any] = {"sample_bytes": sum(len(text.encode()) for text in texts)}
    for name, rival in rivals.items():
        report[name] = measure(rival, held_out(), settings.weights)
        seen = figures(rival, {"sample": use(rival, texts)}, {"sample": 1.0})
        report[name]["sample_slots_used"] = seen["slots_used"]
    return report


def measure(
    tokenizer: tokenizers.Tokenizer,
    documents: Mapping[str, Iterable[str]],
    weights: Mapping[str, float],
) -> dict[str, Any]:
    """`figures` of all sources together, and bytes per token of each."""
    used = {source: use(tokenizer, texts) for source, texts in documents.items()}
    return figures(tokenizer, used, weights) | {
        "bytes_per_token_by_source": {
            source: part.bytes / int(part.ids.sum()) for source, part in used.items() if part.bytes
        }
    }


def use(tokenizer: tokenizers.Tokenizer, documents: Iterable[str]) -> Usage:
    """Encode documents, a batch at a time, and count."""
    size = tokenizer.get_vocab_size()
    n_bytes = n_words = 0
    ids = np.zeros(size, dtype=np.int64)
    for batch in batches(documents):
        for encoded in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
            ids += np.bincount(encoded.ids, minlength=size)
        n_bytes += sum(len(document.encode()) for document in batch)
        n_words += sum(len(document.split()) for document in batch)
    return Usage(n_bytes, n_words, ids)


def figures(
    tokenizer: tokenizers.Tokenizer, used: Mapping[str, Usage], weights: Mapping[str, float]
) -> dict[str, float]:
    """Sources together, each with its share of the bytes.

    Returns:
        `bytes_per_token`, `tokens_per_word` (by white space), `slots_used` (share of the segments
        that occur at all), `byte_share` (share of tokens that are single bytes).
    """
    scale = {s: weights.get(s, 0.0) / used[s].bytes for s in used if used[s].bytes > 0}
    total_bytes = sum(scale[s] * used[s].bytes for s in scale)
    total_words = sum(scale[s] * used[s].words for s in scale)
    ids = np.sum([scale[s] * used[s].ids for s in scale], axis=0)
    single = np.array([len(tokenizer.id_to_token(i)) == 1 for i in range(len(ids))])
    segments = len(ids) - BYTES - (tokenizer.token_to_id(BOS_PIECE) is not None)
    return {
        "bytes_per_token": float(total_bytes / ids.sum()),
        "tokens_per_word": float(ids.sum() / total_words),
        "slots_used": int(np.count_nonzero(ids[~single])) / segments,
        "byte_share": float(ids[single].sum() / ids.sum()),
    }


def bpe(texts: Iterable[str], size: int) -> tokenizers.Tokenizer:
    """The library's byte-level BPE with `size` ids (GPT-2's, Radford 2019)."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def unigram(texts: Iterable[str], size: int) -> tokenizers.Tokenizer:
    """The library's Unigram over bytes with `size` ids (Kudo 2018)."""
    tokenizer = tokenizers.Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.UnigramTrainer(
        vocab_size=size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        seed_size=UNIGRAM_SEEDS_PER_ID * size,
        n_sub_iterations=UNIGRAM_ROUNDS,
        shrinking_factor=UNIGRAM_SHRINK,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
