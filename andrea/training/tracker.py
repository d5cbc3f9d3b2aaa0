"""To whom a regime shows its course while it trains: to MLflow, or to nobody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from andrea.watching.recorded import Recorded


class Tracker(Protocol):
    """Takes what is shown and never makes the training wait."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Show a row of the history (column -> value), with figures of the clock beside it."""

    def log_watch(self, recorded: Recorded, since: int) -> None:
        """Show what the watch of the regime has recorded, from the step `since` on."""


class NullTracker:
    """Shows nothing to anybody."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Keep it to itself."""

    def log_watch(self, recorded: Recorded, since: int) -> None:
        """Keep it to itself."""
