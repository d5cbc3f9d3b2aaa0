"""The learning rate of a step: a linear rise, then a cosine."""

from __future__ import annotations

import math

from andrea.config.training import Optimizer


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
