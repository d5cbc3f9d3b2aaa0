"""A run that goes on from a checkpoint file of elsewhere: parameter `warmup.start`.

The file is named after its content, so that the parameter changes when, and only when, the content
does.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import torch

from andrea.common.errors import UserError
from andrea.common.files import NAME_DIGITS, sha256
from andrea.config.training import Scale
from andrea.training import checkpoint
from andrea.training.state import TrainState

SHAPE = ("segments", "d_model", "n_heads", "n_layers", "context")


def name_of(content: str) -> str:
    """The name of a checkpoint file, from the hex SHA-256 of its content."""
    return f"{content[:NAME_DIGITS]}.safetensors"


def start_from(path: Path, state: TrainState, scale: Scale) -> None:
    """Take weights, moments and step from `path`; the walk and the sampler stay as they are.

    Args:
        path: a file that `andrea import` made.
        state: of a network of this scale, before step 0.

    Raises:
        UserError: the file is missing or damaged, has another name than its content asks for, is of
            another shape, stands after the run's last step, or a number in it is not finite.
    """
    if path.is_file() and path.name != (right := name_of(sha256(path))):
        raise UserError(f"{path}: not the content of that name, which belongs in {right}")
    note = checkpoint.read_note(path)
    stored, wanted = note["facts"].get("scale"), asdict(scale)
    for key in SHAPE:
        size = stored.get(key) if isinstance(stored, dict) else None
        if size != wanted[key]:
            raise UserError(f"{path}: made for {key} {size!r:.40}, the run has {wanted[key]}")
    step = note["state"].get("step")
    if type(step) is not int or not 0 <= step <= scale.steps:
        raise UserError(f"{path}: step {step!r:.40} is not one of a run of {scale.steps} steps")
    checkpoint.load_tensors(path, state)
    for name, tensor in checkpoint.named_tensors(state):
        refuse_impossible(path, name, tensor)
    state.step = step


def refuse_impossible(path: Path, name: str, tensor: torch.Tensor) -> None:
    """Refuse what no training leaves behind.

    Args:
        name: of the tensor in a checkpoint, with its kind.

    Raises:
        UserError: a number is not finite, or negative in a second moment or a count.
    """
    if not torch.isfinite(tensor).all():
        raise UserError(f"{path}: {name} holds a number that is not finite")
    if name.startswith((checkpoint.SECOND_MOMENT, checkpoint.UPDATES)) and (tensor < 0).any():
        raise UserError(f"{path}: {name} holds a negative number, which no sum of squares is")
