"""The text of a finished run: what it is measured on, what it has read, and how tokens read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from andrea.common.errors import UserError
from andrea.geometry.measure.run import FinishedRun
from andrea.mixture.sampler import permuted
from andrea.tokens.display import segmentation
from andrea.tokens.tokenizer import BOS, BOS_PIECE
from andrea.training import batches


def held_out(run: FinishedRun, source: str, rows: int, tokens: int) -> tuple[Tensor, Tensor]:
    """Sequences evenly spread over a source's held-out text, on the CPU.

    Returns:
        Inputs and targets, int64, (rows, T) each, fewer where the text is shorter; T is at most the
        context.
    """
    stream, length = run.shards[source].val, min(tokens, run.scale.context)
    there = batches.count(stream, length)
    taken = min(rows, there)
    places = np.arange(taken) * there // max(1, taken)
    return batches.fetch([stream], np.zeros(taken, dtype=np.int64), places, length)


def held_out_of_all(run: FinishedRun, rows: int, tokens: int) -> tuple[Tensor, Tensor]:
    """As `held_out`, the same of every source.

    Raises:
        UserError: no source has so much held-out text.
    """
    parts = [held_out(run, source, rows, tokens) for source in run.shards]
    inputs, targets = (torch.cat(some) for some in zip(*parts, strict=True))
    if len(inputs) < 2:
        raise UserError(f"geometry: no two sequences of {tokens} tokens are in the held-out texts")
    return inputs, targets


def counts_read(run: FinishedRun) -> NDArray[np.int64]:
    """How often the run has read each token as an input, exact, (V,)."""
    total = np.zeros(run.scale.vocabulary, dtype=np.int64)
    for source, (shard, given) in enumerate(zip(run.shards.values(), run.cursors, strict=True)):
        size = batches.count(shard.train, run.scale.context)
        if given == 0:
            continue
        rows = shard.train[: size * run.scale.context].reshape(size, -1)
        epochs, rest = divmod(given, size)
        if epochs:
            total += epochs * np.bincount(rows.ravel(), minlength=len(total))
        if rest:
            last = permuted(run.facts.seed, source, epochs, np.arange(rest), size)
            total += np.bincount(rows[last].ravel(), minlength=len(total))
    return total


def texts(run: FinishedRun) -> Iterator[str]:
    """The beginning of every source's training text."""
    for shard in run.shards.values():
        yield run.tokenizer.decode(shard.train[: run.cfg.word_tokens])


def documents(run: FinishedRun, source: str) -> Iterator[str]:
    """The training documents of a source."""
    stream = np.asarray(run.shards[source].train)
    for one in np.split(stream, np.flatnonzero(stream == BOS))[1:]:
        yield run.tokenizer.decode(one)


def readable(run: FinishedRun, ids: range | list[int]) -> tuple[str, ...]:
    """Tokens as people read them."""
    return tuple(
        BOS_PIECE if token == BOS else segmentation([run.tokenizer.pieces[token]]) for token in ids
    )
