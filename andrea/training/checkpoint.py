"""One file for a whole training state: safetensors, which cannot hold code.

Tensors are `weight.<name>`, `first_moment.<name>`, `second_moment.<name>` and `updates.<name>`
(AdamW's count of steps); everything else is JSON under the one metadata key `andrea`. Equal states
give equal bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from andrea.errors import UserError
from andrea.model.gpt import GPT

if TYPE_CHECKING:
    from andrea.training.state import TrainState

FORMAT = 1
FILE = "checkpoint.safetensors"
KEY = "andrea"


def save(path: Path, state: TrainState, facts: dict[str, Any]) -> None:
    """Write the state to `path`, synced to the disk.

    Args:
        path: the file.
        state: between two steps.
        facts: JSON that a reader needs: sources, shape of the network, fingerprints.
    """
    note = {"format": FORMAT, "state": state.to_json(), "facts": facts}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in _tensors(state)}
    metadata = {KEY: json.dumps(note, sort_keys=True, allow_nan=False)}
    save_file(tensors, path, metadata)
    with path.open("rb") as file:
        os.fsync(file.fileno())


def read_note(path: Path) -> dict[str, Any]:
    """The JSON part of a checkpoint: `state` and `facts`.

    Raises:
        UserError: the file is missing, damaged, or of another format.
    """
    try:
        with safe_open(path, framework="pt") as file:
            note: dict[str, Any] = json.loads((file.metadata() or {})[KEY])
        version = note["format"]
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such checkpoint; run `dvc repro`") from error
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise UserError(f"{path}: not a checkpoint of this project ({error})") from error
    if version != FORMAT:
        raise UserError(f"{path}: checkpoint format {version}, this code reads {FORMAT}")
    return note


def load(path: Path, state: TrainState) -> dict[str, Any]:
    """Fill `state`, whose network has the right shape, from `path`.

    Returns:
        The facts given to `save`.

    Raises:
        UserError: as `read_note`, or a tensor is missing or has another shape.
    """
    note = read_note(path)
    _fill(path, _tensors(state))
    state.restore(note["state"])
    facts: dict[str, Any] = note["facts"]
    return facts


def load_weights(path: Path, model: GPT) -> None:
    """Fill the network alone from `path`.

    Raises:
        UserError: as `load`.
    """
    read_note(path)
    _fill(path, ((f"weight.{name}", weights) for name, weights in model.named_parameters()))


def _fill(path: Path, tensors: Iterable[tuple[str, Tensor]]) -> None:
    with safe_open(path, framework="pt") as file, torch.no_grad():
        names = set(file.keys())
        for name, tensor in tensors:
            if name not in names:
                raise UserError(f"{path}: tensor {name} is missing")
            stored = file.get_tensor(name)
            if stored.shape != tensor.shape:
                found, wanted = list(stored.shape), list(tensor.shape)
                raise UserError(f"{path}: tensor {name} has shape {found}, needed is {wanted}")
            tensor.copy_(stored)


def _tensors(state: TrainState) -> Iterator[tuple[str, Tensor]]:
    for name, weights in state.model.named_parameters():
        moments = state.optimizer.state[weights]
        yield f"weight.{name}", weights
        yield f"first_moment.{name}", moments["exp_avg"]
        yield f"second_moment.{name}", moments["exp_avg_sq"]
        yield f"updates.{name}", moments["step"]
