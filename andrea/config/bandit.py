"""Section `bandit`: who chooses the vertex that the walk steps towards, and for what reward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from andrea.config.reading import Range


@dataclass(frozen=True)
class Bandit:
    """Rule and reward; `probe_tokens` is per source, 0 reads no probe."""

    rule: Literal["ducb", "ucb1", "exp3", "fixed"]
    reward: Literal["probe", "slope", "ema"]
    discount: Annotated[float, Range(0, 1, above=True)]
    exploration: Annotated[float, Range(0)]
    probe_rows: Annotated[int, Range(1)]
