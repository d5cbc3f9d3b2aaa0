"""Keys and values of tokens already read, so that the next token costs one token's work.

Rows have lengths of their own. Tokens stand at the positions where they were read from the left,
and what lies beyond a row's length is masked until a token overwrites it: no row knows of padding.
The letter C is the capacity of a row, N counts places over all rows and heads.
"""

from __future__ import annotations

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
            rows: B.
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
        self._first_places_BH = torch.arange(rows * first.heads, device=weights.device)
        self._first_places_BH = self._first_places_BH.view(rows, first.heads) * capacity

    @torch.no_grad()
    def fill(self, rows_R: Ids, tokens_RT: Ids) -> None:
        """Read rows anew from their first position.

        Args:
            rows_R: which.
            tokens_RT: what they hold, shorter ones filled up on the right with anything.
        """
        rows, tokens = self._here(rows_R), self._here(tokens_RT)
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        self._read(
            tokens, positions, [partial(_write_rows, *layer, rows) for layer in self._layers]
        )

    @torch.no_grad()
    def step(self, tokens_B: Ids, positions_B: Ids) -> Tensor:
        """Read one token of every row.

        Args:
            tokens_B: ids.
            positions_B: where it stands: as many tokens as the row has before it.

        Returns:
            Logits of the token after it, (B, V).
        """
        positions = self._here(positions_B)[:, None]
        columns = torch.arange(int(positions_B.max()) + 1, device=positions.device)
        mask_BC = torch.zeros(
            len(positions), len(columns), dtype=self._layers[0][0].dtype, device=positions.device
        ).masked_fill_(columns > positions, -torch.inf)
        places_N = (self._first_places_BH + positions).flatten()
        stream = self._read(
            self._here(tokens_B)[:, None],
            positions,
            [
                partial(_write_token, *layer, places_N, mask_BC[:, None, None])
                for layer in self._layers
            ],
        )
        logits_BV: Tensor = self._model.head(norm(stream[:, 0]))
        return logits_BV

    def _here(self, ids: Ids) -> Tensor:
        return torch.from_numpy(ids).to(self._first_places_BH.device)

    def _read(self, tokens_BT: Tensor, positions: Tensor, attends: list[Attend]) -> Tensor:
        """The stream behind the last block, (B, T, d)."""
        model = self._model
        stream = functional.embedding(tokens_BT, model.token)
        stream = stream + functional.embedding(positions, model.position)
        for block, attend in zip(model.blocks, attends, strict=True):
            stream = block(stream, attend)
        return stream


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
