"""AdamW over the network's two kinds of weights, and its learning rate: a rise, then a cosine."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from andrea.config.training import Optimizer
from andrea.model.gpt import GPT

TABLES = ("token", "position")


def make(model: GPT, cfg: Optimizer) -> torch.optim.AdamW:
    """AdamW (Loshchilov & Hutter 2019): decay on matrices and head, none on the tables.

    Its moments exist from the start, so that a checkpoint always has the same tensors.
    """
    # Rows of the tables that no batch holds have no gradient: decay alone would wear them away.
    named = dict(model.named_parameters())
    optimizer = torch.optim.AdamW(
        [
            {
                "params": [weights for name, weights in named.items() if name not in TABLES],
                "weight_decay": cfg.weight_decay,
            },
            {"params": [named[name] for name in TABLES], "weight_decay": 0.0},
        ],
        lr=0.0,
        betas=(cfg.beta1, cfg.beta2),
        eps=cfg.epsilon,
        fused=True,
    )
    for weights in named.values():
        optimizer.state[weights] = {
            "step": torch.zeros((), dtype=torch.float32, device=weights.device),
            "exp_avg": torch.zeros_like(weights),
            "exp_avg_sq": torch.zeros_like(weights),
        }
    return optimizer


def step(optimizer: torch.optim.AdamW, lr: float) -> None:
    """Take one step at the learning rate `lr` and forget the gradients."""
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.step()
    optimizer.zero_grad()


def clip(model: GPT, largest: float) -> float:
    """Scale the gradients down to the global norm `largest` (Pascanu et al. 2013); 0: leave them.

    Returns:
        The norm before.
    """
    gradients: list[Tensor] = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    if largest > 0:
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), largest, norm)
    return float(norm)


def lr(step: int, steps: int, peak: float, cfg: Optimizer) -> float:
    """Learning rate at `step`.

    Over the first w = `cfg.lr_warmup * steps` steps the peak is multiplied by (step + 1) / w; then
    a cosine (Loshchilov & Hutter 2017) falls to `cfg.final_lr` of the peak at the last step.

    Args:
        step: from 0, over all regimes.
    """
    rise = math.floor(cfg.lr_warmup * steps + 0.5)
    if step < rise:
        return peak * (step + 1) / rise
    done = (step - rise + 1) / max(1, steps - rise)
    return peak * (cfg.final_lr + (1 - cfg.final_lr) * 0.5 * (1 + math.cos(math.pi * done)))
