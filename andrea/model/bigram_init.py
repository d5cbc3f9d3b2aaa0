"""Bigram init: weights that know token pairs and can look back a fixed number of tokens.

A short run spends most of itself on two things that need no gradient of the whole network:

- *Which token follows which.* Before its first step the blocks add nothing to the residual, so the
  network is a log-bilinear model of token pairs (Mnih & Hinton 2007): the logits after token i are
  `head . norm(token_i)`. Its loss over a whole corpus needs only the V x V pair frequencies, and
  full-batch Adam fits it in seconds.
- *Heads that find the token n places back*, which later ones build on (Elhage et al. 2021).
  Positions become sines and cosines (Vaswani et al. 2017) in features of their own; a query turned
  by n tokens then points at the key n places back. The last head of the first block stays as
  it was drawn; head h of the others looks h + 1 back. What they read adds nothing to the
  residual until training says so.

`docs/decisions.md` has what each is worth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from andrea.model.gpt import GPT, Block, norm

POSITION_SHARE = 4  # one feature in so many tells the position
AMPLITUDE = 0.9  # of a sine, beside token features that deviate by about 0.5
SHORTEST_WAVE = 2.5  # tokens
SHARPNESS = 11.0  # of the offset heads: all but 2 % of the weight on one token

RATE = 0.03
BETAS = (0.9, 0.99)
BLOCK_ROWS = 512


def apply(model: GPT, streams: Sequence[NDArray[np.uint16]], steps: int) -> list[float]:
    """Write the first weights of a new network, in place.

    Args:
        streams: training tokens of each source that the first regime allows; all weigh the same.
        steps: of Adam on the pair frequencies.

    Returns:
        Cross-entropy of the pairs before each step, in nats.
    """
    features = position_features(model)
    with torch.no_grad():
        _write_positions(model, features)
        _turn_heads(model, features)
    return fit_pairs(model, pair_frequencies(streams, len(model.token)), features, steps)


def position_features(model: GPT) -> int:
    """How many of the last features tell the position; even, and at most what a head can read."""
    width = model.token.shape[1]
    return 2 * (min(width // POSITION_SHARE, width // _first(model).heads) // 2)


def pair_frequencies(streams: Sequence[NDArray[np.uint16]], vocabulary: int) -> Tensor:
    """How often token j follows token i, every stream weighing the same.

    Args:
        streams: tokens of each source, at least one stream with two tokens.
        vocabulary: V.

    Returns:
        fp32, (V, V), sum 1.
    """
    total = np.zeros(vocabulary * vocabulary)
    for stream in streams:
        pairs = stream[:-1].astype(np.int64) * vocabulary + stream[1:]
        if len(pairs):
            total += np.bincount(pairs, minlength=len(total)) / len(pairs)
    return torch.from_numpy((total / total.sum()).astype(np.float32)).view(vocabulary, vocabulary)


def fit_pairs(model: GPT, frequencies_VV: Tensor, features: int, steps: int) -> list[float]:
    """Fit token table and head to pair frequencies, in place, by full-batch Adam.

    Args:
        model: its positions written, its head 0.
        frequencies_VV: of pairs, sum 1.
        features: the last ones, which tell the position: there table and head become 0.
        steps: of Adam (Kingma & Ba 2015), its rate falling linearly.

    Returns:
        Cross-entropy of the pairs before each step, in nats.
    """
    device, width = model.token.device, model.token.shape[1]
    free = width - features
    token_Vf = model.token.detach()[:, :free].clone().requires_grad_()
    head_Vf = model.head.weight.detach()[:, :free].clone().requires_grad_()
    place_f = model.position.detach()[:1, free:]  # of the same length at every position
    used = frequencies_VV.sum(1).nonzero()[:, 0]  # the others add nothing to the loss
    blocks = [used[first : first + BLOCK_ROWS] for first in range(0, len(used), BLOCK_ROWS)]
    targets = [frequencies_VV[rows].to(device) for rows in blocks]
    adam = torch.optim.Adam([token_Vf, head_Vf], lr=RATE, betas=BETAS, fused=True)
    losses = []
    for step in range(steps):
        total = 0.0
        for rows, wanted_RV in zip(blocks, targets, strict=True):
            tokens = functional.embedding(rows.to(device), token_Vf)
            # The place's features take part in the norm, as they will in the network, but the head
            # reads none of them: else the pairs would hold at the first position alone.
            residual = torch.cat([tokens, place_f.expand(len(rows), -1)], 1)
            logits_RV = functional.linear(norm(residual)[:, :free], head_Vf)
            loss = -(wanted_RV * logits_RV.log_softmax(1)).sum()
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item()
        for group in adam.param_groups:
            group["lr"] = RATE * (1 - step / steps)
        adam.step()
        adam.zero_grad()
        losses.append(total)
    with torch.no_grad():
        model.token.zero_()[:, :free] = token_Vf
        model.head.weight.zero_()[:, :free] = head_Vf
    return losses


def _write_positions(model: GPT, features: int) -> None:
    angles = torch.arange(model.context)[:, None] * _frequencies(features, model.context)
    model.position.zero_()
    model.position[:, -features::2] = AMPLITUDE * angles.sin()
    model.position[:, -features + 1 :: 2] = AMPLITUDE * angles.cos()


def _turn_heads(model: GPT, features: int) -> None:
    """Write queries and keys of all heads of the first block but the last."""
    block, width = _first(model), model.token.shape[1]
    d_k = width // block.heads
    sharpness = SHARPNESS * math.sqrt(d_k) / (features / 2)
    for head in range(block.heads - 1):
        turn = -(head + 1) * _frequencies(features, model.context)
        query, key = torch.zeros(2, d_k, width)
        for wave in range(features // 2):
            here = 2 * wave
            columns = slice(width - features + here, width - features + here + 2)
            cos, sin = math.cos(turn[wave]), math.sin(turn[wave])
            query[here : here + 2, columns] = torch.tensor([[cos, sin], [-sin, cos]])
            key[here : here + 2, columns] = torch.eye(2)
        rows = slice(head * d_k, (head + 1) * d_k)
        block.qkv[:width][rows] = sharpness * query
        block.qkv[width : 2 * width][rows] = key


def _frequencies(features: int, context: int) -> Tensor:
    """Radians per token of each wave, from fast to slow."""
    longest = max(2.0 * context, 2 * SHORTEST_WAVE)
    waves = torch.logspace(math.log10(SHORTEST_WAVE), math.log10(longest), features // 2)
    return 2 * math.pi / waves


def _first(model: GPT) -> Block:
    block = model.blocks[0]
    assert isinstance(block, Block)
    return block
