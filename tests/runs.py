"""A run of a second: three sources of made-up tokens and a network of one layer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from andrea.config.training import Bandit, Compute, Curriculum, Optimizer, Scale
from andrea.mixture.simplex import Region
from andrea.training import machine, state
from andrea.training.run import Run
from andrea.training.state import TrainState

STEPS = 40
SOURCES = ("first", "second", "third")
SCALE = Scale(
    segments=10, d_model=16, n_heads=2, n_layers=1, context=8, micro_batch=4, grad_accumulation=1,
    steps=STEPS, bigram_init=0, lr=0.01, log_every=5,
)  # fmt: skip
OPTIMIZER = Optimizer(
    beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.1, grad_clip=1.0, lr_warmup=0.1,
    final_lr=0.1,
)  # fmt: skip


def made_run(**changes: Any) -> Run:
    """All of a run in one regime of three sources: short phases, probe reward.

    Source s repeats a pattern of s + 2 tokens, with some noise.
    """
    rng = np.random.default_rng(0)
    streams = []
    for source in range(3):
        stream = np.arange(400) % (source + 2) + 10 * source
        noisy = rng.random(400) < 0.1
        stream[noisy] = rng.integers(0, SCALE.vocabulary, noisy.sum())
        streams.append(stream.astype(np.uint16))
    lengths = np.ones(SCALE.vocabulary, dtype=np.int64)
    lengths[256] = 0
    run = Run(
        seed=5,
        scale=SCALE,
        optimizer=OPTIMIZER,
        bandit=Bandit(rule="ducb", reward="probe", discount=0.9, exploration=0.5, probe_rows=2),
        curriculum=Curriculum(shortest_phase=2, longest_phase=5, random_share=0.5, eta=0.3),
        machine=machine.prepare(Compute("cpu", "fp32", False, 1)),
        sources=SOURCES,
        train=streams,
        probe=[stream[:40] for stream in streams],
        byte_lengths=lengths,
        index=0,
        region=Region(np.zeros(3), np.ones(3)),
        end_step=STEPS,
    )
    return replace(run, **changes)


def in_three_regimes(run: Run) -> list[Run]:
    """Two sources, then three, then mostly the last without the first."""
    zeros = np.zeros(3)
    return [
        replace(run, index=0, region=Region(zeros, np.array([1.0, 1.0, 0.0])), end_step=10),
        replace(run, index=1, region=Region(zeros, np.ones(3)), end_step=25),
        replace(
            run,
            index=2,
            region=Region(np.array([0.0, 0.0, 0.7]), np.array([0.0, 0.25, 1.0])),
            end_step=STEPS,
        ),
    ]


def new(run: Run) -> TrainState:
    """The state before the first step."""
    return state.new(run.scale, run.optimizer, 3, run.seed, "cpu")
