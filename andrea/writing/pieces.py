"""Text from a model while it is written: pieces that are whole characters and no part of a mark."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from andrea.model.filters import Sampling
from andrea.model.generate import stream
from andrea.model.gpt import GPT
from andrea.tokens.tokenizer import BOS, Tokenizer

End = Literal["document", "mark", "length"]


class Piece(NamedTuple):
    """What can be shown next; the text may be empty in the last piece.

    `end` says why no piece follows: the model began another document, it wrote a stop mark, or all
    tokens are drawn. None where more follows; `tokens` are those drawn so far.
    """

    text: str
    tokens: int
    end: End | None


def write(
    model: GPT,
    tokenizer: Tokenizer,
    prompt: str,
    sampling: Sampling,
    tokens: int,
    key: tuple[int, ...],
    marks: Sequence[str] = (),
) -> Iterator[Piece]:
    """Continue a text that begins a document.

    A last space of the prompt is not read but asked of the first token: in texts that the model
    knows, a space is part of the word behind it.

    Args:
        tokens: most to be written.
        key: of the random stream.
        marks: where the text ends, the mark left out.

    Yields:
        Pieces, the last one with an end. Bytes that are no UTF-8 become U+FFFD.
    """
    space = prompt.endswith(" ")
    ids = np.append([BOS], tokenizer.encode(prompt[:-1] if space else prompt).astype(np.int64))
    first = np.array([piece[:1] == b" " for piece in tokenizer.pieces]) if space else None
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    held, number = "", 0
    for number, drawn in enumerate(stream(model, [ids], tokens, sampling, key, first), start=1):
        token = int(drawn[0])
        if token == BOS:
            yield Piece(held + decoder.decode(b"", final=True), number, "document")
            return
        held += decoder.decode(tokenizer.pieces[token][space and number == 1 :])
        marks_at = [at for at in map(held.find, marks) if at >= 0]
        if marks_at:
            yield Piece(held[: min(marks_at)], number, "mark")
            return
        ready = len(held) - begun(held, marks)
        if ready:
            yield Piece(held[:ready], number, None)
            held = held[ready:]
    yield Piece(held + decoder.decode(b"", final=True), number, "length")


def begun(text: str, marks: Sequence[str]) -> int:
    """Characters at the end of `text` that may become one of the marks."""
    longest = min(len(text), max(map(len, marks), default=0))
    return next(
        (n for n in range(longest, 0, -1) if any(mark.startswith(text[-n:]) for mark in marks)), 0
    )
