"""Files of a folder from elsewhere: read as data, never run, and refused in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from andrea.common.errors import UserError, line
from andrea.common.files import strict_json
from andrea.training import checkpoint

LARGEST_JSON_BYTES = 32_000_000
LARGEST_HEADER_BYTES = 4_000_000


def inside(folder: Path, name: str) -> Path:
    """The regular file of that name, known to lie in the folder itself.

    Raises:
        UserError: it is missing, no regular file, or a link out of the folder.
    """
    path = folder / name
    try:
        if not path.exists():
            broken = " (a link to nothing)" if path.is_symlink() else ""
            raise UserError(f"{path}: missing{broken}")
        if not path.is_file():
            raise UserError(f"{path}: not a regular file")
        if not path.resolve().is_relative_to(folder.resolve()):
            raise UserError(f"{path}: a link out of its folder")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    return path


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object without a name that stands twice and without NaN.

    Raises:
        UserError: it is not such a file, or larger than any that we write.
    """
    try:
        size = path.stat().st_size
        if size > LARGEST_JSON_BYTES:
            raise UserError(f"{path}: {size} bytes, allowed are {LARGEST_JSON_BYTES}")
        text = path.read_bytes().decode("utf-8")
        value = strict_json(text)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON ({line(error)})") from error
    if not isinstance(value, dict):
        raise UserError(f"{path}: not a JSON object")
    return value


def read_tensors(path: Path, shapes: Mapping[str, torch.Size]) -> dict[str, Tensor]:
    """Just the named tensors of a safetensors file, fp32, all of them finite.

    The length of the file is compared before room is made for anything.

    Raises:
        UserError: names the file, and the tensor where it is one that is wrong.
    """
    numbers = sum(shape.numel() for shape in shapes.values())
    try:
        size = path.stat().st_size
        if not 4 * numbers < size < 4 * numbers + LARGEST_HEADER_BYTES:
            raise UserError(f"{path}: {size} bytes do not hold {numbers} numbers of config.json")
        checkpoint.refuse_duplicates(path, LARGEST_HEADER_BYTES)
        with safe_open(path, framework="pt"):
            pass
        tensors = dict(checkpoint.read_tensors(path, shapes))
    except (OSError, SafetensorError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a safetensors file ({line(error)})") from error
    for name, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            raise UserError(f"{path}: tensor {name} holds a number that is not finite")
    return tensors


def checked_pairs(path: Path, value: Any) -> Iterator[tuple[str, float]]:
    """The `[piece, score]` pairs of a tokenizer file's vocabulary.

    Raises:
        UserError: it is no list of such pairs, or a score is not finite.
    """
    if not isinstance(value, list):
        raise UserError(f"{path}: model.vocab is not a list")
    for number, pair in enumerate(value):
        match pair:
            case [str(piece), float(score)] if abs(score) < 1e300:
                yield piece, score
            case _:
                raise UserError(
                    f"{path}: model.vocab[{number}]: {line(pair, 60)} is not a piece with a score"
                )
