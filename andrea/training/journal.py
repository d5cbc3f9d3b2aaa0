"""What a regime under way has recorded so far; a checkpoint holds it beside the state."""

from __future__ import annotations

from dataclasses import dataclass, field

from andrea.training.history import Row, Window
from andrea.training.records import FinishedPhase
from andrea.training.watch import WatchState


@dataclass
class Journal:
    """Everything that the reports are made of.

    Attributes:
        watch: what the watch saw.
        window: steps since the last row.
        rows: of the history.
        phases: finished.
        sound: name of the last checkpoint before a sample was degenerate.
    """

    watch: WatchState
    window: Window
    rows: list[Row] = field(default_factory=list)
    phases: list[FinishedPhase] = field(default_factory=list)
    sound: str | None = None
