"""Weights alone, kept at a few steps within a regime: points of its path between two checkpoints.

A snapshot waits in memory until the next checkpoint of the run under way is written, and is put
down before it. So whoever goes on from a checkpoint finds every snapshot up to its step.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from andrea.common.errors import UserError
from andrea.common.files import NAME_DIGITS, holds_its_content, write_by_content
from andrea.model.gpt import GPT
from andrea.training.state import TrainState

FORMAT = 1
FOLDER = "snapshots"
KEY = "andrea"
NAME = re.compile(rf"step-(\d{{9}})-([0-9a-f]{{{NAME_DIGITS}}})\.safetensors")


def between(first: int, last: int, count: int) -> tuple[int, ...]:
    """Steps at even distances between `first` and `last`; fewer where there is no room."""
    places = {first + (last - first) * number // (count + 1) for number in range(1, count + 1)}
    return tuple(sorted(step for step in places if first < step < last))


def listed(folder: Path) -> dict[int, Path]:
    """Snapshots in a folder by their step, in order; none where there is no such folder."""
    named = ((NAME.fullmatch(path.name), path) for path in sorted(folder.glob("step-*")))
    return {int(match[1]): path for match, path in named if match}


def read(path: Path, model: GPT) -> int:
    """Fill the network from a snapshot.

    Returns:
        Its step.

    Raises:
        UserError: the file is missing or damaged, or is of another network.
    """
    match = NAME.fullmatch(path.name)
    if match is None or not path.is_file():
        raise UserError(f"{path}: no such snapshot")
    if not holds_its_content(path):
        raise UserError(f"{path}: its content is not what was written")
    try:
        with safe_open(path, framework="pt") as file, torch.no_grad():
            stored = set(file.keys())
            for name, weights in model.named_parameters():
                stored.discard(name)
                weights.copy_(_of_shape(file.get_tensor(name), weights.shape))
    except (SafetensorError, ValueError) as error:
        raise UserError(f"{path}: not a snapshot of this network ({error})") from error
    if stored:
        raise UserError(f"{path}: tensor {min(stored)} does not belong there")
    return int(match[1])


class Snapshots:
    """The snapshots of a regime under way.

    Args:
        folder: where they are put down.
        steps: at which they are taken, `between` the regime's first and last.
    """

    def __init__(self, folder: Path, steps: Sequence[int]) -> None:
        self._folder = folder
        self._steps = steps
        self._waiting: dict[int, Mapping[str, Tensor]] = {}

    def take(self, state: TrainState) -> None:
        """Keep the weights, if this is a step of a snapshot."""
        if state.step in self._steps:
            self._waiting[state.step] = {
                name: weights.detach().to("cpu", copy=True)
                for name, weights in state.model.named_parameters()
            }

    def put_down(self) -> None:
        """Write what waits, synced to the disk.

        Raises:
            OSError: it could not be written; it waits on.
        """
        for step, weights in sorted(self._waiting.items()):
            self._folder.mkdir(exist_ok=True)
            _write(self._folder, step, weights)
            del self._waiting[step]

    def check(self, step: int) -> None:
        """See that every snapshot up to `step` is what was written.

        Raises:
            UserError: one is missing or damaged.
        """
        written = listed(self._folder)
        for wanted in self._steps:
            if wanted <= step:
                if wanted not in written:
                    raise UserError(f"{self._folder}: the snapshot of step {wanted} is missing")
                if not holds_its_content(written[wanted]):
                    raise UserError(f"{written[wanted]}: its content is not what was written")

    def copy_to(self, folder: Path) -> None:
        """Copy all of them into `folder`, which is made if there are any.

        Raises:
            OSError: they could not be written or read.
        """
        self.put_down()
        written = listed(self._folder)
        for step in self._steps:
            folder.mkdir(exist_ok=True)
            (folder / written[step].name).write_bytes(written[step].read_bytes())


def _write(folder: Path, step: int, weights: Mapping[str, Tensor]) -> None:
    metadata = {KEY: json.dumps({"format": FORMAT, "step": step}, sort_keys=True)}

    def write(part: Path) -> None:
        try:
            save_file(dict(weights), part, metadata)
        except SafetensorError as error:
            raise OSError(f"{part}: {error}") from error

    write_by_content(folder, f"step-{step:09d}-", write)


def _of_shape(tensor: Tensor, shape: torch.Size) -> Tensor:
    if tensor.shape != shape or tensor.dtype != torch.float32:
        raise ValueError(f"{tensor.dtype} {list(tensor.shape)}, needed is fp32 {list(shape)}")
    return tensor
