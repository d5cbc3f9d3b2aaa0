"""Checkpoints of a regime under way: written often, whole or not there, and taken up again.

A checkpoint is written to a `.part` file, synced and renamed to a name that ends in its digest; so
a file of such a name is what was written, or has been damaged since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from andrea.common.errors import UserError
from andrea.common.files import own_part, sha256, sync_folder
from andrea.scratch.folder import Scratch, checkpoints, differences
from andrea.training import checkpoint
from andrea.training.state import TrainState

KEPT = 2
DIGITS = 16  # of the SHA-256 of the content, in hex


def save(
    scratch: Scratch, state: TrainState, journal: Mapping[str, Any], kept: Path | None
) -> Path:
    """Write a checkpoint and drop all but the last two.

    Args:
        scratch: where.
        state: between two steps.
        journal: what was seen so far, as plain JSON.
        kept: an older checkpoint that is not dropped either.

    Raises:
        OSError: it could not be written; the ones before are still there.
    """
    with own_part(scratch.folder / checkpoint.FILE) as part:
        checkpoint.save(part, state, {"inputs": scratch.inputs}, journal)
        name = f"step-{state.step:09d}-{sha256(part)[:DIGITS]}.safetensors"
        path = part.replace(scratch.folder / name)
    sync_folder(scratch.folder)
    for old in checkpoints(scratch.folder)[:-KEPT]:
        if old != kept:
            old.unlink()
    return path


def load_newest(
    scratch: Scratch, new: Callable[[], TrainState], check: Callable[[int], None]
) -> tuple[TrainState, dict[str, Any] | None, list[str]]:
    """The newest checkpoint that is in order.

    One that is not gets the ending `.refused` and is named.

    Args:
        scratch: where.
        new: makes a state to fill, before step 0.
        check: raises UserError where something else is missing that goes on from that step.

    Returns:
        The state, as `new` made it where there is no checkpoint; the journal that was saved with
        it, None where there is none; and for each refused one its name and the reason.
    """
    refused: list[str] = []
    for path in reversed(checkpoints(scratch.folder)):
        state = new()
        try:
            journal = _load(scratch, path, state)
            check(state.step)
            return state, journal, refused
        except UserError as error:
            refused.append(str(error))
            path.rename(path.with_suffix(".refused"))
    return new(), None, refused


def _load(scratch: Scratch, path: Path, state: TrainState) -> dict[str, Any]:
    try:
        digest = sha256(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error}") from error
    if digest[:DIGITS] != path.stem.rpartition("-")[2]:
        raise UserError(f"{path}: its content is not what was written")
    note = checkpoint.read_note(path)
    differing = differences(note["facts"]["inputs"], scratch.inputs)
    if differing:
        raise UserError(f"{path}: made from other inputs: {'; '.join(differing)}")
    checkpoint.load(path, state)
    journal: dict[str, Any] = note["journal"]
    return journal
