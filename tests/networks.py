"""Small networks with drawn weights everywhere, so that no test rests on zeros."""

from __future__ import annotations

import torch

from andrea.config.training import Scale
from andrea.model.gpt import GPT, initialise

SCALE = Scale(
    segments=40, d_model=32, n_heads=4, n_layers=2, context=24, micro_batch=4,
    grad_accumulation=1, steps=10, bigram_init=0, lr=0.01, log_every=5,
)  # fmt: skip


def network(scale: Scale = SCALE, spread: float = 0.1) -> GPT:
    """As a new network, but what starts at zero is drawn too, with that standard deviation."""
    model = GPT(scale)
    initialise(model, seed=3)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for weights in model.parameters():
            if not weights.any():
                weights.normal_(0, spread, generator=generator)
    return model
