"""Section `curriculum`: the rhythm of the walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from andrea.common.errors import UserError
from andrea.config.reading import Range

Steps = Annotated[int, Range(1)]
Share = Annotated[float, Range(0, 1)]


@dataclass(frozen=True)
class Curriculum:
    """Phase lengths in steps; `random_share` of phases teleport, the rest step by `eta`."""

    shortest_phase: Steps
    longest_phase: Steps
    random_share: Share
    eta: Share
    max_epochs: Annotated[float, Range(0, above=True)]
    allow_repeats: bool

    def check(self, key: str) -> None:
        """Raise UserError where two values do not fit together."""
        if self.shortest_phase > self.longest_phase:
            raise UserError(
                f"{key}.shortest_phase: {self.shortest_phase} is above {key}.longest_phase"
                f" ({self.longest_phase}); ANDREA walks 7 to 42"
            )
