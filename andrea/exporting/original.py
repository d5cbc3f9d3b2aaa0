"""The original's checkpoint file: `[int32 step][int32 n][n weights][n m][n v]`, fp32.

All little-endian; m and v are Adam's moments; parameters in the order of the network: token table,
position table, per layer attention (q, k, v, o) and MLP (up, down), head. It holds neither the
curriculum nor the sampler, nor AdamW's counts of updates, nor how many tokens were read.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from torch import Tensor

from andrea.common.errors import UserError
from andrea.common.files import whole_file, write_by_content
from andrea.config.training import Scale
from andrea.model.gpt import GPT
from andrea.training import checkpoint
from andrea.training.start import refuse_impossible
from andrea.training.state import TrainState

HEADER = struct.Struct("<ii")
LARGEST = 2**31 - 1  # of an int32
FLOATS = np.dtype("<f4")
PARTS = (checkpoint.WEIGHT, checkpoint.FIRST_MOMENT, checkpoint.SECOND_MOMENT)


@dataclass(frozen=True)
class Written:
    """What an original file holds, and how far AdamW's counts, which it does not, are off."""

    step: int
    parameters: int  # n
    size_bytes: int  # of the file, 8 + 12 n
    skipped: int  # steps without an update, which a reader of the file takes for updates


def size_bytes(parameters: int) -> int:
    """Length of the file of a network of so many parameters."""
    return HEADER.size + len(PARTS) * FLOATS.itemsize * parameters


def read(path: Path, state: TrainState, scale: Scale, scales: Mapping[str, Scale]) -> str:
    """Fill weights, moments and step of `state` from an original file; memory of one tensor more.

    AdamW's counts of updates become the step. After an error `state` is in pieces.

    Args:
        state: of a network of this scale.
        scales: all that are known, by name, to tell which one would fit.

    Returns:
        Hex SHA-256 of the file.

    Raises:
        UserError: the file cannot be read, has a wrong size or another number of parameters, a step
            that the run does not have, or a number that no training leaves behind.
    """
    if path.exists() and not path.is_file():
        raise UserError(f"{path}: not a regular file")
    digest = hashlib.sha256()
    tensors = dict(checkpoint.named_tensors(state))
    names = [name for name, _ in state.model.named_parameters()]
    try:
        with path.open("rb") as file, torch.no_grad():
            header = file.read(HEADER.size)
            step = _check(path, header, os.fstat(file.fileno()).st_size, scale, scales)
            digest.update(header)
            for tensor in (tensors[f"{part}.{name}"] for part in PARTS for name in names):
                tensor.copy_(_read_tensor(path, file, tensor, digest))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    for name, tensor in tensors.items():
        if name.startswith(checkpoint.UPDATES):
            tensor.fill_(step)
        refuse_impossible(path, name, tensor)
    state.step = step
    return digest.hexdigest()


def keep(folder: Path, state: TrainState, facts: Mapping[str, Any]) -> Path:
    """Save a state that was read, whole or not at all, under a name that tells its content.

    Args:
        facts: for `checkpoint.save`; `scale` among them.

    Returns:
        The file, for `start.start_from`.

    Raises:
        UserError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return write_by_content(folder, "", lambda part: checkpoint.save(part, state, facts))
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error})") from error


def write(source: Path, path: Path) -> Written:
    """Write a checkpoint of ours as an original file, whole or not at all, tensor by tensor.

    Raises:
        UserError: the checkpoint is missing or damaged, holds a number that no training leaves
            behind, or the file cannot be written.
    """
    note = checkpoint.read_note(source)
    scale: Scale = checkpoint.checked(source, note["facts"].get("scale"), Scale, "scale")
    step = checkpoint.checked(source, note["state"].get("step"), int, "step")
    for word, count in (("step", step), ("number of parameters", scale.parameters)):
        if not 0 <= count <= LARGEST:
            raise UserError(f"{source}: {word} {count}, the original file takes 0 to {LARGEST}")
    if source.stat().st_size < size_bytes(scale.parameters):
        raise UserError(f"{source}: too short for the {scale.parameters} parameters of its scale")
    with torch.device("meta"):
        shapes = {name: weights.shape for name, weights in GPT(scale).named_parameters()}
    wanted = {f"{part}.{name}": shape for part in PARTS for name, shape in shapes.items()}
    counts = {f"{checkpoint.UPDATES}.{name}": torch.Size() for name in shapes}
    updates = step
    try:
        with whole_file(path, sync=True) as part, part.open("wb") as file:
            file.write(HEADER.pack(step, scale.parameters))
            for name, tensor in checkpoint.read_tensors(source, wanted | counts):
                refuse_impossible(source, name, tensor)
                if name in counts:
                    updates = min(updates, int(tensor))
                else:
                    file.write(tensor.numpy().astype(FLOATS, copy=False).data)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from error
    return Written(step, scale.parameters, size_bytes(scale.parameters), step - updates)


def _check(path: Path, header: bytes, size: int, scale: Scale, scales: Mapping[str, Scale]) -> int:
    """Compare header and length of a file with each other and with the run; returns the step."""
    if len(header) < HEADER.size:
        raise UserError(f"{path}: truncated, {size} bytes are less than the header's {HEADER.size}")
    step, parameters = HEADER.unpack(header)
    needed = size_bytes(max(parameters, 0))
    if parameters < 1 or not needed // 2 < size < 2 * needed:
        raise UserError(
            f"{path}: not an original checkpoint: {size} bytes do not hold {parameters} parameters"
        )
    if size != needed:
        how = "truncated" if size < needed else "trailing bytes"
        raise UserError(f"{path}: {how}: {size} bytes, {parameters} parameters take {needed}")
    if parameters != scale.parameters:
        fitting = [name for name, known in scales.items() if known.parameters == parameters]
        raise UserError(
            f"{path}: {parameters} parameters, the scale has {scale.parameters};"
            f" {f'scale={fitting[0]} fits' if fitting else 'no scale fits'}"
        )
    if not 0 <= step <= scale.steps:
        raise UserError(f"{path}: step {step} is impossible, the run has steps 0 to {scale.steps}")
    return int(step)


def _read_tensor(path: Path, file: BinaryIO, like: Tensor, digest: hashlib._Hash) -> Tensor:
    raw = bytearray(like.numel() * FLOATS.itemsize)
    if file.readinto(raw) != len(raw):  # type: ignore[attr-defined]
        raise UserError(f"{path}: truncated while it was read")
    digest.update(raw)
    native = np.frombuffer(raw, FLOATS).astype(np.float32, copy=False)
    return torch.from_numpy(native).view(like.shape)
