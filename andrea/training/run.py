"""What one regime is trained from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.config.training import REGIMES, Bandit, Curriculum, Optimizer, Scale
from andrea.mixture.simplex import Region
from andrea.training.batches import Stream
from andrea.training.machine import Machine


@dataclass(frozen=True, eq=False)
class Run:
    """One regime of a run: with the state that it begins from, it decides every byte."""

    seed: int
    scale: Scale  # of the run, like the sections up to `curriculum`
    optimizer: Optimizer  # AdamW and the course of its learning rate
    bandit: Bandit
    curriculum: Curriculum  # how long a phase is and where it leads
    machine: Machine
    sources: Sequence[str]  # names, (k,)
    train: Sequence[Stream]  # token stream of each source, (k,)
    probe: Sequence[Stream]  # the same of text that is never trained on, (k,)
    byte_lengths: NDArray[np.int64]  # bytes per token id, (V,)
    index: int  # of the regime, from 0
    region: Region
    end_step: int  # first step after it, counted over all regimes

    @property
    def name(self) -> str:
        """Of the regime."""
        return REGIMES[self.index]
