"""A small network with drawn weights everywhere, and tokens for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from andrea.model.gpt import GPT
from tests import networks

SCALE = replace(networks.SCALE, context=16)


@pytest.fixture
def model() -> GPT:
    """Two layers, and no weight zero."""
    torch.set_num_threads(1)
    return networks.network(SCALE)


@pytest.fixture
def tokens_BT() -> torch.Tensor:
    """Three rows of a whole context."""
    return torch.randint(0, SCALE.vocabulary, (3, 16), generator=torch.Generator().manual_seed(5))
