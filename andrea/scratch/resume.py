"""Checkpoints of a regime under way: written often, whole or not there, and taken up again.

The name of a checkpoint ends in the digest of its content; so a file of such a name is what was
written, or has been damaged since.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from andrea.common.errors import UserError
from andrea.common.files import holds_its_content, write_by_content
from andrea.scratch.folder import Inputs, Scratch, checkpoints, differences

T = TypeVar("T")

KEPT = 2


def save(scratch: Scratch, step: int, write: Callable[[Path], None], kept: Path | None) -> Path:
    """Write a checkpoint and drop all but the last two.

    Args:
        kept: an older checkpoint that is not dropped either.

    Raises:
        OSError: it could not be written; the ones before are still there.
    """
    # The old ones go last: killed at any place, this leaves two that are in order.
    path = write_by_content(scratch.folder, f"step-{step:09d}-", write)
    for old in checkpoints(scratch.folder)[:-KEPT]:
        if old != kept:
            old.unlink()
    return path


def load_newest(scratch: Scratch, load: Callable[[Path], T]) -> tuple[T | None, list[str]]:
    """The newest checkpoint that is in order.

    One that is not gets the ending `.refused` and is named.

    Args:
        load: reads a file; it raises UserError where that cannot be gone on from.

    Returns:
        What `load` returned, None where there is no checkpoint; and for each refused one its name
        and the reason.
    """
    refused: list[str] = []
    for path in reversed(checkpoints(scratch.folder)):
        try:
            _check_content(path)
            return load(path), refused
        except UserError as error:
            refused.append(str(error))
            path.rename(path.with_suffix(".refused"))
    return None, refused


def refuse_others(path: Path, inputs: Inputs, scratch: Scratch) -> None:
    """Refuse a checkpoint that was made from other inputs than these.

    Raises:
        UserError: names what differs.
    """
    differing = differences(inputs, scratch.inputs)
    if differing:
        raise UserError(f"{path}: made from other inputs: {'; '.join(differing)}")


def _check_content(path: Path) -> None:
    try:
        whole = holds_its_content(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error}") from error
    if not whole:
        raise UserError(f"{path}: its content is not what was written")
