"""What one regime is trained from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.config.training import Bandit, Curriculum, Optimizer, Scale
from andrea.mixture.simplex import Region
from andrea.training.batches import Stream
from andrea.training.machine import Machine


@dataclass(frozen=True, eq=False)
class Run:
    """One regime of a run: with the state that it begins from, it decides every byte.

    Attributes:
        seed: of the run.
        scale: of the run, like the sections up to `curriculum`.
        optimizer: AdamW and the course of its learning rate.
        bandit: rule and reward.
        curriculum: how long a phase is and where it leads.
        machine: what the network runs on.
        sources: names, (k,).
        train: token stream of each source, (k,).
        probe: the same of text that is never trained on, (k,).
        byte_lengths: bytes per token id, (V,).
        index: of the regime, from 0.
        region: of its mixtures.
        end_step: first step after it, counted over all regimes.
    """

    seed: int
    scale: Scale
    optimizer: Optimizer
    bandit: Bandit
    curriculum: Curriculum
    machine: Machine
    sources: Sequence[str]
    train: Sequence[Stream]
    probe: Sequence[Stream]
    byte_lengths: NDArray[np.int64]
    index: int
    region: Region
    end_step: int
