"""What a regime under way has recorded, and the checkpoint that holds it beside the state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from andrea.common.codec import decode, encode
from andrea.scratch.folder import Scratch
from andrea.scratch.resume import refuse_others
from andrea.training import checkpoint
from andrea.training.history import Row, Window
from andrea.training.records import FinishedPhase
from andrea.training.state import TrainState
from andrea.training.watch import WatchState


@dataclass
class Journal:
    """Everything that the reports are made of."""

    watch: WatchState
    window: Window  # steps since the last row
    rows: list[Row] = field(default_factory=list)
    phases: list[FinishedPhase] = field(default_factory=list)
    sound: str | None = None  # name of the last checkpoint before a sample was degenerate


def save(path: Path, state: TrainState, journal: Journal, scratch: Scratch) -> None:
    """Write what a killed run goes on from.

    Raises:
        OSError: the file cannot be written.
    """
    checkpoint.save(path, state, {"inputs": scratch.inputs}, encode(journal))


def load(path: Path, new: Callable[[], TrainState], scratch: Scratch) -> tuple[TrainState, Journal]:
    """Read what `save` wrote.

    Args:
        new: makes a state to fill: a file that is refused half way leaves its own in pieces.

    Raises:
        UserError: it is damaged, or was made from other inputs.
    """
    # Inputs before tensors: a network of another shape is of another run and no damaged file.
    note = checkpoint.read_note(path)
    refuse_others(path, note["facts"]["inputs"], scratch)
    state = new()
    checkpoint.load(path, state)
    return state, decode(note["journal"], Journal, "journal", nan=True)
