"""Held-out loss in bits per byte: a measure that compares models with different tokenizers."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from andrea.model.gpt import GPT
from andrea.tokens.tokenizer import BOS, Tokens
from andrea.training.machine import Machine


def bits_per_byte(nats: float, n_bytes: float) -> float:
    """Bits per byte of a loss summed over tokens that stand for `n_bytes` UTF-8 bytes."""
    return nats / (math.log(2) * n_bytes)


def score(
    model: GPT, tokens: Tokens, byte_lengths: NDArray[np.int64], rows: int, machine: Machine
) -> float:
    """Bits per byte of documents, one after the other.

    Windows of the model's context follow one another; every token is predicted once, from
    the tokens of its window before it. BOS counts no bytes, and predicting it is not counted.

    Args:
        tokens: of the documents, each after its BOS, at least one token besides.
        byte_lengths: of each id, (V,).
        rows: windows at a time.
    """
    inputs, targets = windows(tokens, model.context)
    nats = 0.0
    for first in range(0, len(inputs), rows):
        here = targets[first : first + rows]
        with machine.autocast():
            losses = model.nats(
                torch.from_numpy(inputs[first : first + rows]).to(machine.device),
                torch.from_numpy(here).to(machine.device),
            )
        nats += float(losses.cpu().numpy().astype(np.float64)[here != BOS].sum())
    return bits_per_byte(nats, int(byte_lengths[tokens].sum()))


def windows(tokens: Tokens, context: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Inputs and targets of all tokens, (n, T) each; the last row is filled up with BOS.

    The first token is BOS, which nothing predicts; a BOS among the targets is not to be counted.
    """
    count = -(-(len(tokens) - 1) // context)
    padded = np.full(count * context + 1, BOS, dtype=np.int64)
    padded[: len(tokens)] = tokens
    return padded[:-1].reshape(count, context), padded[1:].reshape(count, context)
