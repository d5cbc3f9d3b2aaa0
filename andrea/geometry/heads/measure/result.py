"""What the stage `geometry` found of the heads.

Letters: L layers, H heads, T tokens of a prompt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.geometry.heads.measure.attention import Position
from andrea.geometry.heads.measure.heads import Statistics
from andrea.geometry.heads.measure.subspaces import Subspaces


@dataclass(frozen=True, eq=False)
class Prompt:
    """One prompt through every head of the last checkpoint."""

    text: str  # as the parameters give it
    pieces: tuple[str, ...]  # its tokens, readable, (T,); the first is the start of a document
    weights: NDArray[np.float64]  # of each token (row) on itself and those before, (L, H, T, T)
    place: int  # the position looked at closely
    position: Position  # what it sees, before and after scaling and softmax
    error: float  # largest difference of the logits from those of the fast path


@dataclass(frozen=True, eq=False)
class Heads:
    """What heads of the last checkpoint look at."""

    prompts: tuple[Prompt, ...]  # captured ones
    text: Statistics  # means over held-out text of all sources
    repeated: Statistics  # over random tokens that come again, where induction shows
    subspaces: Subspaces  # what the heads share, over layers one after the other
