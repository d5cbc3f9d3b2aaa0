"""Cross-entropy of a linear head that never holds the logits of a whole batch.

The head's product, its softmax and its gradient are made for one block of tokens at a time, so the
peak is one block of logits instead of two copies of (B, T, V) (the idea of Wijmans et al. 2024,
"Cut Your Losses", with plain torch). The gradient is computed in the forward pass, where the logits
are at hand, and scaled in the backward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

CPU_BLOCK_LOGITS = 2**20  # 4 MB in fp32: stays in the cache
DEVICE_BLOCK_LOGITS = 2**26  # 256 MB: few launches


def nats(features_Nd: Tensor, head_Vd: Tensor, targets_N: Tensor) -> Tensor:
    """Cross-entropy of each token, without a gradient.

    Args:
        features_Nd: what the head reads, in the dtype that it computes in.
        targets_N: the right tokens, int64.

    Returns:
        fp32 losses in nats, shape (N,).
    """
    losses = [
        functional.cross_entropy(
            functional.linear(features, head_Vd).float(), targets, reduction="none"
        )
        for features, targets in _blocks(features_Nd, targets_N, head_Vd.shape[0])
    ]
    return torch.cat(losses)


def mean_nats(features_Nd: Tensor, head_Vd: Tensor, targets_N: Tensor) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy, differentiable, and the loss of each token.

    Args:
        head_Vd: the head; fp32, cast to the features' dtype for the products.

    Returns:
        The mean in nats (a scalar with a gradient) and losses of shape (N,) without one, both fp32.
    """
    mean, losses = _MeanNats.apply(features_Nd, head_Vd, targets_N)  # type: ignore[no-untyped-call]
    return mean, losses


def _blocks(
    features_Nd: Tensor, targets_N: Tensor, vocabulary: int
) -> Iterator[tuple[Tensor, Tensor]]:
    limit = CPU_BLOCK_LOGITS if features_Nd.device.type == "cpu" else DEVICE_BLOCK_LOGITS
    # Blocks of logits and not of rows: what must fit is rows times vocabulary.
    rows = max(1, limit // vocabulary)
    for first in range(0, len(targets_N), rows):
        yield features_Nd[first : first + rows], targets_N[first : first + rows]


class _MeanNats(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features_Nd: Tensor, head_Vd: Tensor, targets_N: Tensor) -> Any:
        weights = head_Vd.to(features_Nd.dtype)
        count = targets_N.shape[0]
        losses, feature_gradients = [], []
        head_gradient = torch.zeros_like(head_Vd)
        for features, targets in _blocks(features_Nd, targets_N, head_Vd.shape[0]):
            # fp32 from here on: bf16 has three digits, and a loss is a difference of two logits.
            log_p = functional.linear(features, weights).float()
            log_p -= log_p.logsumexp(1, keepdim=True)
            rows = torch.arange(len(targets), device=targets.device)
            losses.append(-log_p[rows, targets])
            # d loss / d logits is p - onehot, so the block of log p becomes it in place and no
            # second block is ever held; over `count`, because the loss is the mean.
            gradient = log_p.exp_()
            gradient[rows, targets] -= 1
            gradient = gradient.mul_(1 / count).to(features.dtype)
            feature_gradients.append(gradient @ weights)
            head_gradient += gradient.T @ features
        ctx.save_for_backward(torch.cat(feature_gradients), head_gradient)
        losses_N = torch.cat(losses)
        # Who weighted single losses would get no gradient, and no error, were it not said here.
        ctx.mark_non_differentiable(losses_N)
        return losses_N.mean(), losses_N

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        feature_gradient, head_gradient = ctx.saved_tensors
        scale = gradients[0]  # d whatever / d mean: the rest of the gradient is known already
        return feature_gradient * scale.to(feature_gradient.dtype), head_gradient * scale, None
