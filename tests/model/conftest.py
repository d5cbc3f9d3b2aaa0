"""A small network with drawn weights everywhere, so that no test rests on zeros."""

from __future__ import annotations

import pytest
import torch

from andrea.config.scale import Scale
from andrea.model.gpt import GPT, initialise

SCALE = Scale(
    segments=40, width=32, heads=4, layers=2, context=16, rows=4, accumulation=1, steps=10,
    head_start=0, peak_rate=0.01, log_every=5,
)  # fmt: skip


@pytest.fixture
def model() -> GPT:
    """Two layers, and no weight zero."""
    torch.set_num_threads(1)
    network = GPT(SCALE)
    initialise(network, seed=3)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for weights in network.parameters():
            if not weights.any():
                weights.normal_(0, 0.1, generator=generator)
    return network


@pytest.fixture
def tokens_BT() -> torch.Tensor:
    """Three rows of a whole context."""
    return torch.randint(0, SCALE.vocabulary, (3, 16), generator=torch.Generator().manual_seed(5))
