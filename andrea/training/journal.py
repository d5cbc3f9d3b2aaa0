"""What a regime under way has told so far; a checkpoint holds it beside the state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from andrea.training.history import Row, Window, plain
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

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; a figure that is not finite becomes null."""
        return {
            "watch": self.watch.to_json(),
            "window": self.window.to_json(),
            "rows": [plain(row) for row in self.rows],
            "phases": [phase.to_json() for phase in self.phases],
            "sound": self.sound,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Journal:
        """The journal that `to_json` wrote, with NaN for null."""
        return cls(
            WatchState.from_json(value["watch"]),
            Window.from_json(value["window"]),
            [
                {name: math.nan if number is None else number for name, number in row.items()}
                for row in value["rows"]
            ],
            [FinishedPhase.from_json(phase) for phase in value["phases"]],
            value["sound"],
        )
