"""What each head looks at in a prompt: its scores, scaled, and turned into weights.

A head is a projection: queries and keys are shadows of the stream in its k features, and their
products say where it looks. All of it comes out of the network's own blocks, whose `attend` keeps
what it computes.

L layers, H heads, k features per head, T tokens; in (T, T) the query's row comes first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from andrea.common.errors import UserError
from andrea.model.gpt import GPT, Attend, norm

Ids = NDArray[np.integer]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Capture:
    """One prompt through every head."""

    tokens: Ids  # the prompt, (T,)
    scores: Floats  # q . k of all pairs, also of those that the mask takes out, (L, H, T, T)
    scaled: Floats  # the same divided by sqrt(k), (L, H, T, T)
    # Softmax of the scaled scores over a token and those before it, (L, H, T, T). A row sums to 1
    # and is exactly 0 after the diagonal. Look for a stripe under the diagonal (a head that looks
    # one back), a bright first column (a head at rest) and rows that light up at one token far
    # back.
    weights: Floats
    logits: Floats  # of the next token, as these weights lead to them, (T, V)


@dataclass(frozen=True)
class Position:
    """What one token sees, which are the n tokens up to and with it."""

    tokens: Ids  # those tokens, (n,)
    scores: Floats  # q . k, (L, H, n)
    scaled: Floats  # divided by sqrt(k), (L, H, n): in the same order, but closer together
    weights: Floats  # softmax of `scaled`, (L, H, n)
    # Softmax of `scores`, (L, H, n): what the weights would be without the division. Look for how
    # much more stands on the largest score.
    unscaled_weights: Floats


def steps(q_HTk: Tensor, k_HTk: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """From queries and keys to weights, one step at a time (Vaswani et al. 2017).

    Args:
        q_HTk: queries; before H any axes.

    Returns:
        Scores, scaled scores and weights, (H, T, T) each, as `Capture` explains them.
    """
    scores_HTT = q_HTk @ k_HTk.transpose(-1, -2)
    scaled_HTT = scores_HTT / math.sqrt(q_HTk.shape[-1])
    return scores_HTT, scaled_HTT, causal_softmax(scaled_HTT)


def causal_softmax(scores_HTT: Tensor) -> Tensor:
    """Softmax of each row over its token and those before it; exactly 0 elsewhere."""
    pair = scores_HTT.shape[-2:]
    later_TT = torch.ones(pair, dtype=torch.bool, device=scores_HTT.device).triu(1)
    return scores_HTT.masked_fill(later_TT, -torch.inf).softmax(-1)


def features(model: GPT, tokens_T: Ids, attend: Attend) -> Tensor:
    """As `GPT.features` of one sequence, (1, T, d), in fp32 and with another `attend`.

    Neither the network nor torch's global state changes.
    """
    device = model.token.device
    tokens_BT = torch.from_numpy(tokens_T.astype(np.int64))[None].to(device)
    with torch.no_grad(), torch.autocast(device.type, enabled=False):
        stream = functional.embedding(tokens_BT, model.token) + model.position[: len(tokens_T)]
        for block in model.blocks:
            stream = block(stream, attend)
        return norm(stream)


def capture(model: GPT, tokens_T: Ids) -> Capture:
    """Send one prompt through the network and keep what every head computes.

    The result takes 12 L H T^2 bytes and more, so prompts are short. Neither the network nor
    torch's global state changes.

    Args:
        model: fp32.
        tokens_T: ids, from 1 to the context many.

    Raises:
        UserError: the prompt has no token or more than the context.
    """
    if not 1 <= len(tokens_T) <= model.context:
        raise UserError(f"prompt: {len(tokens_T)} tokens, must be from 1 to {model.context}")
    kept: list[tuple[Tensor, ...]] = []

    def attend(q_BHTk: Tensor, k_BHTk: Tensor, v_BHTk: Tensor) -> Tensor:
        kept.append(steps(q_BHTk, k_BHTk))
        return kept[-1][2] @ v_BHTk

    features_BTd = features(model, tokens_T, attend)
    with torch.no_grad(), torch.autocast(features_BTd.device.type, enabled=False):
        logits_TV = model.head(features_BTd[0])
    scores, scaled, weights = (
        torch.cat(layers).cpu().numpy() for layers in zip(*kept, strict=True)
    )
    return Capture(tokens_T, scores, scaled, weights, logits_TV.cpu().numpy())


def at_position(captured: Capture, position: int) -> Position:
    """What one token of a captured prompt sees.

    Raises:
        UserError: the prompt has no such position.
    """
    count = len(captured.tokens)
    if not 0 <= position < count:
        raise UserError(f"position: {position} is not allowed, must be from 0 to {count - 1}")
    visible = slice(position + 1)
    scores = captured.scores[:, :, position, visible]
    return Position(
        captured.tokens[visible],
        scores,
        captured.scaled[:, :, position, visible],
        captured.weights[:, :, position, visible],
        torch.from_numpy(scores).softmax(-1).numpy(),
    )
