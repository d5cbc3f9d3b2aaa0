"""Section `watch`: what is looked at while a run trains, and what an alarm does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from andrea.common.errors import UserError
from andrea.config.reading import Range

Count = Annotated[int, Range(1)]


@dataclass(frozen=True)
class Watch:
    """Alarms and samples; only `on_cliff: exclude` may change what is trained."""

    enabled: bool
    sample_every: Count
    sample_tokens: Annotated[int, Range(16)]
    sample_temperature: Annotated[float, Range(0)]
    sample_top_k: Count
    prompts: tuple[str, ...]
    on_degenerate: Literal["halt", "report"]
    degenerate_in_a_row: Count
    on_cliff: Literal["report", "exclude", "halt"]
    cliff_ratio: Annotated[float, Range(0, 1, above=True, below=True)]
    max_epochs: Annotated[float, Range(0, above=True)]

    def check(self, key: str) -> None:
        """Raise UserError where a value has no meaning."""
        if not self.prompts:
            raise UserError(f"{key}.prompts: at least one is needed; '' starts from nothing")
