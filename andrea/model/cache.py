"""Keys and values of tokens already read, so that the next token costs one token's work.

Rows have lengths of their own. Tokens stand at the positions where they were read from the left,
and what lies beyond a row's length is masked until a token overwrites it: no row knows of padding.
The letter C is the capacity of a row, N counts places over all rows and heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from andrea.model.gpt import GPT, Attend, Block, causal, norm

Ids = NDArray[np.int64]


class Cache:
    """Keys and values of every layer, changed in place; reads the model, never changes it."""

    def __init__(self, model: GPT, rows: int, capacity: int) -> None:
        """Make room.

        Args:
            model: its dtype, or that of an autocast around this call, is the cache's.
            capacity: most tokens of a row, at most the context.
        """
        first = model.blocks[0]
        assert isinstance(first, Block)
        weights = first.qkv
        device = weights.device.type
        half = torch.is_autocast_enabled(device)
        dtype = torch.get_autocast_dtype(device) if half else weights.dtype
        shape = (rows, first.heads, capacity, weights.shape[1] // first.heads)
        self._model = model
        self._layers = [  # zeros: a masked value that is not a number would still poison the sum
            (weights.new_zeros(shape, dtype=dtype), weights.new_zeros(shape, dtype=dtype))
            for _ in model.blocks
        ]
        self._positions = torch.arange(capacity, device=weights.device)
        starts_N = torch.arange(0, rows * first.heads * capacity, capacity, device=weights.device)
        self._starts_BH = starts_N.view(rows, first.heads)

    @torch.no_grad()
    def fill(self, rows_R: Ids, tokens_RT: Ids) -> None:
        """Read rows anew from their first position.

        Args:
            tokens_RT: what they hold, shorter ones filled up on the right with anything.
        """
        rows, tokens = self._here(rows_R), self._here(tokens_RT)
        positions = self._positions[: tokens.shape[1]]
        attends = [partial(_write_rows, *layer, rows) for layer in self._layers]
        self._read(tokens, positions, attends)

    @torch.no_grad()
    def step(self, tokens_B: Ids, positions_B: Ids) -> Tensor:
        """Read one token of every row.

        Args:
            positions_B: where it stands: as many tokens as the row has before it.

        Returns:
            Logits of the token after it, (B, V).

        Raises:
            IndexError: a row is full.
        """
        longest, capacity = int(positions_B.max()) + 1, len(self._positions)
        if longest > capacity:
            raise IndexError(f"position {longest - 1} in a cache for {capacity} tokens")
        positions = self._here(positions_B)[:, None]
        # Beyond its last token a row holds what an earlier window or its padding left there.
        later = self._positions[:longest] > positions
        mask_BC = self._layers[0][0].new_zeros(later.shape).masked_fill_(later, -torch.inf)
        mask_B11C = mask_BC[:, None, None]
        places_N = (self._starts_BH + positions).flatten()
        attends = [partial(_write_token, *layer, places_N, mask_B11C) for layer in self._layers]
        residual = self._read(self._here(tokens_B)[:, None], positions, attends)
        logits_BV: Tensor = self._model.head(norm(residual[:, 0]))
        return logits_BV

    def _here(self, ids: Ids) -> Tensor:
        return torch.from_numpy(ids).to(self._positions.device)

    def _read(self, tokens_BT: Tensor, positions: Tensor, attends: Sequence[Attend]) -> Tensor:
        """The residual behind the last block, (B, T, d)."""
        model = self._model
        residual = functional.embedding(tokens_BT, model.token)
        residual = residual + functional.embedding(positions, model.position)
        for block, attend in zip(model.blocks, attends, strict=True):
            residual = block(residual, attend)
        return residual


def _write_rows(
    keys_BHCk: Tensor, values_BHCk: Tensor, rows_R: Tensor, q: Tensor, k: Tensor, v: Tensor
) -> Tensor:
    keys_BHCk[rows_R, :, : k.shape[2]] = k
    values_BHCk[rows_R, :, : v.shape[2]] = v
    return causal(q, k, v)


def _write_token(
    keys_BHCk: Tensor,
    values_BHCk: Tensor,
    places_N: Tensor,
    mask_B11C: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
) -> Tensor:
    for held, new in ((keys_BHCk, k), (values_BHCk, v)):
        held.flatten(0, 2).index_copy_(0, places_N, new.flatten(0, 2))
    longest = mask_B11C.shape[3]
    return functional.scaled_dot_product_attention(
        q, keys_BHCk[:, :, :longest], values_BHCk[:, :, :longest], attn_mask=mask_B11C
    )
