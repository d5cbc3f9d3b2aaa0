"""Documents to tokens, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from andrea.tokens.tokenizer import BOS, Tokenizer, Tokens

BATCH_CHARACTERS = 1 << 20


def batches(documents: Iterable[str], characters: int = BATCH_CHARACTERS) -> Iterator[list[str]]:
    """Group documents, in order, into lists of about as many characters; none is cut."""
    batch: list[str] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document)
        if size >= characters:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def encode_documents(documents: Iterable[str], tokenizer: Tokenizer) -> Iterator[Tokens]:
    """Yield each document as BOS and its tokens, (1 + T,); a batch is in memory at a time."""
    for batch in batches(documents):
        for ids in tokenizer.encode_batch(batch):
            yield np.concatenate([np.array([BOS], dtype=np.uint16), ids])


def encode_all(documents: Iterable[str], tokenizer: Tokenizer) -> Tokens:
    """(N,) tokens of at least one document, one document after the other, each after its BOS."""
    return np.concatenate(list(encode_documents(documents, tokenizer)))
