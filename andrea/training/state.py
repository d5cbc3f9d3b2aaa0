"""All that a run carries from one step to the next: (seed, state) decides everything after it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from andrea.config.training import Optimizer, Scale
from andrea.mixture import curriculum, sampler
from andrea.mixture.curriculum import CurriculumState, Phase
from andrea.mixture.sampler import SamplerState
from andrea.model.gpt import GPT, initialise
from andrea.training import optimizer


@dataclass(frozen=True)
class OpenPhase:
    """The phase under way."""

    phase: Phase
    # Of the sources when it began, (k,); None for an arm owed an exploration.
    scores: tuple[float | None, ...]
    # Loss on each source's probe when it began, bits per byte, (k,); None where unread.
    probe: tuple[float | None, ...] | None
    sequences: tuple[int, ...]  # trained in it so far, (k,)


@dataclass
class TrainState:
    """Where a run stands before `step`."""

    model: GPT
    optimizer: torch.optim.AdamW
    curriculum: CurriculumState  # the walk
    sampler: SamplerState  # what each source is owed and has given
    open_phase: OpenPhase | None = None  # None between phases
    # Loss on each source's probe after the last phase, bits per byte, (k,); None where the next
    # phase must read it anew.
    probe: tuple[float | None, ...] | None = None
    # (regime, *excluded sources) that the walk is in; empty before the first phase.
    region: tuple[int, ...] = ()
    excluded: tuple[int, ...] = ()  # sources that the watch has taken out, by index, oldest first
    step: int = 0  # optimiser steps done, over all regimes
    tokens: int = 0  # read so far
    skipped: int = 0  # steps without an update because loss or gradient was not finite
    skipped_in_a_row: int = 0  # of these, up to now without a good one between


def new(
    scale: Scale, cfg: Optimizer, sources: int, seed: int | None, device: str = "cpu"
) -> TrainState:
    """The state before step 0, its weights drawn from `seed`; None leaves them to be filled."""
    model = GPT(scale)
    if seed is not None:
        initialise(model, seed)
    model.to(device)
    return TrainState(
        model, optimizer.make(model, cfg), curriculum.init(sources), sampler.init(sources)
    )
