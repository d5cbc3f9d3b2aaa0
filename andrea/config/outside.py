"""Sections `limits`, `scratch`, `track`: what can refuse, save or show, and changes no result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from andrea.common.codec import Range


@dataclass(frozen=True)
class Limits:
    """What a run must not go beyond."""

    # Readings of one source in a run; more is refused.
    max_epochs: Annotated[float, Range(0, above=True)]
    allow_repeats: bool  # true runs nevertheless
    # Readings of one source in a run; more brings a warning.
    warn_epochs: Annotated[float, Range(0, above=True)]
    # What so many degenerate samples in a row do, past warmup.
    on_degenerate: Literal["halt", "report"]


@dataclass(frozen=True)
class Scratch:
    """Checkpoints that a killed run goes on from: one every so many steps, the last two kept."""

    checkpoint_every: Annotated[int, Range(1)]


@dataclass(frozen=True)
class Track:
    """Name of the MLflow experiment that the runs stand in."""

    experiment: str
