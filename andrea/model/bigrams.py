"""A head start: tables that already know which token follows which.

Before its first step the network's blocks add nothing to the stream, so it is a log-bilinear model
of token pairs: logits of what follows token i are `head . norm(token_i)` (Mnih & Hinton 2007). Its
loss over a whole corpus needs only the pair frequencies, a V x V matrix, and fitting them takes
seconds, where training would spend a good part of a short run on them (docs/decisions.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from andrea.model.gpt import GPT, norm

RATE = 0.03
BETAS = (0.9, 0.99)
BLOCK_ROWS = 512


def frequencies(streams: Sequence[NDArray[np.uint16]], vocabulary: int) -> Tensor:
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


def fit(model: GPT, frequencies_VV: Tensor, steps: int) -> list[float]:
    """Fit token table and head to pair frequencies, in place, by full-batch Adam.

    Args:
        model: new; every other weight stays as it is.
        frequencies_VV: of pairs, sum 1.
        steps: of Adam (Kingma & Ba 2015), its rate falling linearly.

    Returns:
        Cross-entropy of the pairs before each step, in nats.
    """
    token, head = model.token, model.head.weight
    seen = frequencies_VV.sum(1).nonzero()[:, 0]
    device = token.device
    blocks = [seen[first : first + BLOCK_ROWS] for first in range(0, len(seen), BLOCK_ROWS)]
    targets = [frequencies_VV[rows].to(device) for rows in blocks]
    places = [rows.to(device) for rows in blocks]
    adam = torch.optim.Adam([token, head], lr=RATE, betas=BETAS, fused=True)
    losses = []
    for step in range(steps):
        total = 0.0
        for rows, wanted_RV in zip(places, targets, strict=True):
            logits_RV = functional.linear(norm(functional.embedding(rows, token)), head)
            loss = -(wanted_RV * logits_RV.log_softmax(1)).sum()
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item()
        for group in adam.param_groups:
            group["lr"] = RATE * (1 - step / steps)
        adam.step()
        adam.zero_grad()
        losses.append(total)
    return losses
