"""Section `bandit`: who chooses the vertex that the walk steps towards, and for what reward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from andrea.common.errors import UserError
from andrea.config.reading import Range


@dataclass(frozen=True)
class Bandit:
    """Rule and reward; `probe_rows` sequences of each source are read per probe."""

    rule: Literal["ducb", "ucb1", "exp3", "fixed"]
    reward: Literal["probe", "slope", "ema"]
    discount: Annotated[float, Range(0, 1, above=True)]
    exploration: Annotated[float, Range(0)]
    probe_rows: Annotated[int, Range(1)]

    def check(self, key: str) -> None:
        """Raise UserError where two values do not fit together."""
        if self.rule == "exp3" and self.exploration > 1:
            raise UserError(
                f"{key}.exploration: {self.exploration:g} is not allowed with rule exp3, must be"
                " from 0 to 1"
            )
