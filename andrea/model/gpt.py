"""The network: a decoder-only transformer without biases and without norm parameters.

Shapes carry their letters: B rows, T tokens, V vocabulary, d width, H heads, k features per head.
RMSNorm (Zhang & Sennrich 2019) stands before attention, before the MLP and before the head; the
MLP is squared ReLU (So et al. 2021); positions are learned; the head is not tied to the table.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from andrea.common.seeds import Purpose
from andrea.config.training import Scale
from andrea.model.cross_entropy import mean_nats, nats

TABLE_SPREAD = 0.5  # of a token's features as they begin

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def causal(q_BHTk: Tensor, k_BHTk: Tensor, v_BHTk: Tensor) -> Tensor:
    """Every token mixes the values of those up to and with itself, (B, H, T, k)."""
    return functional.scaled_dot_product_attention(q_BHTk, k_BHTk, v_BHTk, is_causal=True)


class Block(nn.Module):
    """Attention and MLP, each added to the residual."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Parameter(torch.empty(3 * width, width))
        self.out = nn.Parameter(torch.empty(width, width))
        self.up = nn.Parameter(torch.empty(4 * width, width))
        self.down = nn.Parameter(torch.empty(width, 4 * width))

    def forward(self, residual_BTd: Tensor, attend: Attend = causal) -> Tensor:
        """Both sublayers, (B, T, d) -> (B, T, d); `attend` mixes values by queries and keys."""
        residual_BTd = residual_BTd + self._attention(norm(residual_BTd), attend)
        hidden = functional.relu(functional.linear(norm(residual_BTd), self.up)).square()
        return residual_BTd + functional.linear(hidden, self.down)

    def _attention(self, x_BTd: Tensor, attend: Attend) -> Tensor:
        B, T, d = x_BTd.shape
        # One product for all three: rows of `qkv` are first all queries, then keys, then values,
        # and within each the heads in order, as the original's file has them one after another.
        qkv = functional.linear(x_BTd, self.qkv).view(B, T, 3, self.heads, d // self.heads)
        q_BHTk, k_BHTk, v_BHTk = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        mixed_BHTk = attend(q_BHTk, k_BHTk, v_BHTk)
        return functional.linear(mixed_BHTk.transpose(1, 2).reshape(B, T, d), self.out)


class GPT(nn.Module):
    """ANDREA's network; parameters stand in the order of the original checkpoint file."""

    def __init__(self, scale: Scale) -> None:
        super().__init__()
        self.context = scale.context
        self.token = nn.Parameter(torch.empty(scale.vocabulary, scale.d_model))
        self.position = nn.Parameter(torch.empty(scale.context, scale.d_model))
        self.blocks = nn.ModuleList(
            Block(scale.d_model, scale.n_heads) for _ in range(scale.n_layers)
        )
        self.head = nn.Linear(scale.d_model, scale.vocabulary, bias=False)

    def features(self, tokens_BT: Tensor) -> Tensor:
        """What the head reads, (B, T) int64 -> (B, T, d)."""
        positions_Td = self.position[: tokens_BT.shape[1]]
        residual_BTd = functional.embedding(tokens_BT, self.token) + positions_Td
        for block in self.blocks:
            residual_BTd = block(residual_BTd)
        return norm(residual_BTd)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """Logits of the next token, (B, T) int64 -> (B, T, V)."""
        logits_BTV: Tensor = self.head(self.features(tokens_BT))
        return logits_BTV

    def mean_nats(self, tokens_BT: Tensor, targets_BT: Tensor) -> tuple[Tensor, Tensor]:
        """Mean loss with a gradient, and the loss of each token, (B, T), without one; in nats."""
        features = self._head_input(tokens_BT)
        # The head itself stays fp32, unlike in `nats`: its gradient is summed over blocks of rows.
        mean, losses = mean_nats(features, self.head.weight, targets_BT.flatten())
        return mean, losses.view(targets_BT.shape)

    @torch.no_grad()
    def nats(self, tokens_BT: Tensor, targets_BT: Tensor) -> Tensor:
        """Loss of each token in nats, (B, T), fp32, without a gradient."""
        features = self._head_input(tokens_BT)
        head = self.head.weight.to(features.dtype)
        return nats(features, head, targets_BT.flatten()).view(targets_BT.shape)

    def _head_input(self, tokens_BT: Tensor) -> Tensor:
        """Features (B T, d) in the dtype of the head's product, cast once for all blocks."""
        features = self.features(tokens_BT).flatten(0, 1)
        device = features.device.type
        if torch.is_autocast_enabled(device):
            return features.to(torch.get_autocast_dtype(device))
        return features


def norm(x: Tensor) -> Tensor:
    """RMSNorm over the last axis, without a gain."""
    return functional.rms_norm(x, (x.shape[-1],))


def initialise(model: GPT, seed: int) -> None:
    """Draw the weights, in place, from numpy's generator: the same on every device.

    The token table and the matrices that read the residual are normal, the latter with the variance
    1 / (fan in) (LeCun et al. 1998). Projections back into it start at zero, so that every block
    starts as the identity (Goyal et al. 2017); so does the head, so that the first loss is exactly
    ln V; and so do positions, which otherwise drown the tokens (docs/decisions.md).
    """
    # One generator in the order of the parameters: numpy's, for torch's differs between devices.
    rng = np.random.default_rng([seed, Purpose.INITIAL_WEIGHTS])
    with torch.no_grad():
        for name, weights in model.named_parameters():
            leaf = name.rsplit(".", 1)[-1]
            if leaf in ("position", "out", "down") or name == "head.weight":
                weights.zero_()
                continue
            spread = TABLE_SPREAD if leaf == "token" else weights.shape[1] ** -0.5
            drawn = rng.standard_normal(weights.shape, dtype=np.float32) * np.float32(spread)
            weights.copy_(torch.from_numpy(drawn))
