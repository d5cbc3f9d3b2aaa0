"""A network that says what a test tells it to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from andrea.config.training import Scale
from andrea.model.gpt import GPT
from andrea.tokens.learning import Alphabet
from andrea.tokens.tokenizer import BOS, Tokenizer, build

SEGMENTS = [b" river", b"th", b" s", b"\n>", b"?\n<", b"\xe2\x82", b"\xacx"]
SCALE = Scale(
    segments=len(SEGMENTS), d_model=64, n_heads=1, n_layers=1, context=64, micro_batch=1,
    grad_accumulation=1, steps=1, bigram_init=0, lr=0.1, log_every=1,
)  # fmt: skip
Script = Callable[[list[bytes | None], int], GPT]


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    """Bytes and a few segments, among them halves of characters."""
    scores = [-9.0] * 256 + [-1.0] * len(SEGMENTS)
    return Tokenizer(build(Alphabet(SEGMENTS, torch.tensor(scores).double().numpy())))


@pytest.fixture
def script(tokenizer: Tokenizer) -> Script:
    """`script(pieces, read)`: after `read` tokens the model says these pieces, whatever stood
    before; None is the end of the document.
    """
    ids = {piece: number for number, piece in enumerate(tokenizer.pieces) if number != BOS}

    def make(pieces: list[bytes | None], read: int) -> GPT:
        model = GPT(SCALE)
        with torch.no_grad():
            for weights in model.parameters():
                weights.zero_()
            model.position.copy_(torch.eye(SCALE.context, SCALE.d_model))
            for number, piece in enumerate(pieces):
                token = BOS if piece is None else ids[piece]
                model.head.weight[token, read - 1 + number] = 10
        return model

    return make
