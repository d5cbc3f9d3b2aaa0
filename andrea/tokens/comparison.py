"""How well an alphabet spells held-out text, beside the library's own BPE and Unigram.

All three learn from one weighted sample of the training text and get the same number of ids.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import decoders, models, pre_tokenizers, trainers

from andrea.common.errors import UserError
from andrea.config.text import Tokenizer as Settings
from andrea.corpus.documents import digest
from andrea.tokens import learning
from andrea.tokens.encoding import batches
from andrea.tokens.tokenizer import BOS_PIECE, BYTES, build

# The library's Unigram trainer at its defaults (2 rounds, 0.75) takes six times as long, for 3 %
# more bytes per token.
UNIGRAM_ROUNDS = 1
UNIGRAM_SHRINK = 0.3


@dataclass(frozen=True)
class Usage:
    """What one source's text became: its bytes and words, and (V,) how often each id."""

    bytes: int
    words: int
    ids: NDArray[np.int64]


class Sample:
    """The documents before the first, in the order of their hashes, that `limit_bytes` cannot hold.

    Depends on the set of documents only, and holds no more of them than fit.
    """

    def __init__(self, limit_bytes: float) -> None:
        self._limit_bytes = limit_bytes
        self._kept: list[tuple[int, str]] = []
        self._names: set[int] = set()
        self._bytes = 0
        self._end = 2**64  # the smallest hash that did not fit

    def passing(self, documents: Iterable[str]) -> Iterator[str]:
        """Yield every document on, looking at each once."""
        for document in documents:
            name = int.from_bytes(digest(document)[:8], "big")
            if name < self._end and name not in self._names:
                self._names.add(name)
                heapq.heappush(self._kept, (-name, document))
                self._bytes += len(document.encode())
            while self._bytes > self._limit_bytes:
                rank, dropped = heapq.heappop(self._kept)
                self._end = -rank
                self._names.remove(-rank)
                self._bytes -= len(dropped.encode())
            yield document

    def documents(self) -> list[str]:
        """The sample so far, by hash."""
        return [document for _, document in sorted(self._kept, reverse=True)]


def samples(names: Iterable[str], settings: Settings) -> dict[str, Sample]:
    """An empty sample for each source, of its share of `comparison_bytes`."""
    shares = {name: settings.weights[name] for name in names}
    total = sum(shares.values())
    return {s: Sample(settings.comparison_bytes * share / total) for s, share in shares.items()}


def compare(
    texts: list[str],
    held_out: Callable[[], Mapping[str, Iterable[str]]],
    segments: int,
    settings: Settings,
) -> dict[str, Any]:
    """Train Harris, BPE and Unigram on one sample and measure all three on held-out text.

    Raises:
        UserError: the sample is too small for so many segments.
    """
    sample_bytes = sum(len(text.encode()) for text in texts)
    try:
        words = learning.mix({"sample": learning.count(texts)}, {"sample": 1.0})
        harris = learning.learn(words, segments, settings)
    except UserError as error:
        raise UserError(
            f"tokenizer.comparison_bytes: {settings.comparison_bytes} give a sample of"
            f" {sample_bytes} bytes, too small for {segments} segments; raise it"
        ) from error
    size = BYTES + segments
    rivals = {"harris": build(harris), "bpe": bpe(texts, size), "unigram": unigram(texts, size)}
    report: dict[str, Any] = {"sample_bytes": sample_bytes}
    for name, rival in rivals.items():
        report[name] = measure(rival, held_out(), settings.weights)
    return report


def slots_used(tokenizer: tokenizers.Tokenizer, texts: Iterable[str]) -> float:
    """Share of the segments that occur in the texts."""
    return spelling(tokenizer, {"all": use(tokenizer, texts)}, {"all": 1.0})["slots_used"]


def measure(
    tokenizer: tokenizers.Tokenizer,
    documents: Mapping[str, Iterable[str]],
    weights: Mapping[str, float],
) -> dict[str, Any]:
    """`spelling` of all sources together, and bytes per token of each."""
    used = {source: use(tokenizer, texts) for source, texts in documents.items()}
    return spelling(tokenizer, used, weights) | {
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


def spelling(
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
    tokens = math.fsum(ids)  # exact, as the order of the library's ids is left to chance
    single = np.array([len(str(tokenizer.id_to_token(i))) == 1 for i in range(len(ids))])
    segments = len(ids) - BYTES - (tokenizer.token_to_id(BOS_PIECE) is not None)
    return {
        "bytes_per_token": total_bytes / tokens,
        "tokens_per_word": tokens / total_words,
        "slots_used": int(np.count_nonzero(ids[~single])) / segments,
        "byte_share": math.fsum(ids[single]) / tokens,
    }


def bpe(texts: Iterable[str], size: int) -> tokenizers.Tokenizer:
    """The library's byte-level BPE with `size` ids (GPT-2's, Radford 2019)."""
    return _trained(models.BPE(), trainers.BpeTrainer(**_options(size)), texts)


def unigram(texts: Iterable[str], size: int) -> tokenizers.Tokenizer:
    """The library's Unigram over bytes with `size` ids (Kudo 2018)."""
    trainer = trainers.UnigramTrainer(
        **_options(size), n_sub_iterations=UNIGRAM_ROUNDS, shrinking_factor=UNIGRAM_SHRINK
    )
    return _trained(models.Unigram(), trainer, texts)


def _options(size: int) -> dict[str, Any]:
    letters = pre_tokenizers.ByteLevel.alphabet()
    return {"vocab_size": size, "initial_alphabet": letters, "show_progress": False}


def _trained(model: Any, trainer: Any, texts: Iterable[str]) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
