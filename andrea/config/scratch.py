"""Section `scratch`: checkpoints that a killed run goes on from. It changes no result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from andrea.config.reading import Range


@dataclass(frozen=True)
class Scratch:
    """A checkpoint every so many steps; the last two are kept."""

    checkpoint_every: Annotated[int, Range(1)]
