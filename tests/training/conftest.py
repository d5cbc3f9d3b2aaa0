"""A run of a second: three sources of made-up tokens and a network of two layers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from andrea.config.training import Bandit, Compute, Curriculum, Optimizer, Scale
from andrea.mixture.simplex import Region
from andrea.training import machine
from andrea.training.loop import Data, Regime, Settings

STEPS = 40


@pytest.fixture
def settings() -> Settings:
    """Short phases, probe reward."""
    return Settings(
        seed=5,
        scale=Scale(
            segments=10, d_model=16, n_heads=2, n_layers=1, context=8, micro_batch=4, grad_accumulation=1,
            steps=STEPS, bigram_init=0, lr=0.01, log_every=5,
        ),
        optimizer=Optimizer(
            beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.1, grad_clip=1.0, lr_warmup=0.1,
            final_lr=0.1,
        ),
        bandit=Bandit(
            rule="ducb", reward="probe", discount=0.9, exploration=0.5, probe_rows=2
        ),
        curriculum=Curriculum(
            shortest_phase=2, longest_phase=5, random_share=0.5, eta=0.3, max_epochs=1000,
            allow_repeats=False,
        ),
        machine=machine.prepare(Compute("cpu", "fp32", False, 1)),
    )  # fmt: skip


@pytest.fixture
def data() -> Data:
    """Source s repeats a pattern of s + 2 tokens, with some noise."""
    rng = np.random.default_rng(0)
    streams = []
    for source in range(3):
        stream = np.arange(400) % (source + 2) + 10 * source
        noisy = rng.random(400) < 0.1
        stream[noisy] = rng.integers(0, 267, noisy.sum())
        streams.append(stream.astype(np.uint16))
    lengths = np.ones(267, dtype=np.int64)
    lengths[256] = 0
    return Data(streams, [stream[:40] for stream in streams], lengths)


@pytest.fixture
def regimes() -> list[Regime]:
    """Two sources, then three, then mostly the last without the first."""
    zeros = np.zeros(3)
    return [
        Regime(0, Region(zeros, np.array([1.0, 1.0, 0.0])), 10),
        Regime(1, Region(zeros, np.ones(3)), 25),
        Regime(2, Region(np.array([0.0, 0.0, 0.7]), np.array([0.0, 0.25, 1.0])), STEPS),
    ]


@pytest.fixture
def accumulated(settings: Settings) -> Settings:
    """The same batch in two halves."""
    return replace(settings, scale=replace(settings.scale, micro_batch=2, grad_accumulation=2))
