"""One file for a whole training state: safetensors, which cannot hold code.

Tensors are `weight.<name>`, `first_moment.<name>`, `second_moment.<name>` and `updates.<name>`
(AdamW's count of steps); everything else is JSON under the one metadata key `andrea`. Equal states
give equal bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from andrea.common.codec import decode, encode
from andrea.common.errors import UserError, line
from andrea.common.files import strict_json
from andrea.config.training import FORMER_NAMES
from andrea.model.gpt import GPT

if TYPE_CHECKING:
    from andrea.training.state import TrainState

FORMAT = 3
NAMED_OTHERWISE = 2  # the format in which a scale's fields had other names
FILE = "checkpoint.safetensors"
KEY = "andrea"
OBJECTS = ("model", "optimizer")  # of a state, which hold the tensors; the rest of it is JSON
KINDS = WEIGHT, FIRST_MOMENT, SECOND_MOMENT, UPDATES = (
    "weight", "first_moment", "second_moment", "updates"
)  # fmt: skip


def save(
    path: Path,
    state: TrainState,
    facts: Mapping[str, Any],
    journal: Mapping[str, Any] | None = None,
) -> None:
    """Write the state to `path`.

    Args:
        state: between two steps.
        facts: JSON that a reader needs: sources, shape of the network, fingerprints.
        journal: JSON of what was recorded so far, for whoever goes on from here.

    Raises:
        OSError: the file cannot be written.
    """
    note = {"format": FORMAT, "state": encoded(state), "facts": facts, "journal": journal or {}}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in named_tensors(state)}
    metadata = {KEY: json.dumps(note, sort_keys=True, allow_nan=False)}
    try:
        save_file(tensors, path, metadata)
    except SafetensorError as error:
        raise OSError(f"{path}: {error}") from error


def encoded(state: TrainState) -> dict[str, Any]:
    """All of a state but its tensors as plain JSON, exact."""
    return {
        field.name: encode(getattr(state, field.name))
        for field in fields(state)
        if field.name not in OBJECTS
    }


def read_note(path: Path) -> dict[str, Any]:
    """The JSON part of a checkpoint: `state`, `facts` and `journal`.

    Raises:
        UserError: the file is missing, damaged, or of another format.
    """
    try:
        if path.exists() and not path.is_file():
            raise ValueError("not a regular file")
        with safe_open(path, framework="pt") as file:  # checks the header against the length
            text = (file.metadata() or {})[KEY]
        refuse_duplicates(path)
        note = strict_json(text)
        version = note["format"]
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such checkpoint; run `dvc repro`") from error
    except KeyError as error:
        raise UserError(
            f"{path}: not a checkpoint of this project (without {line(error, 200)})"
        ) from error
    except (OSError, SafetensorError, TypeError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a checkpoint of this project ({line(error, 200)})") from error
    if version == NAMED_OTHERWISE:
        facts = note.get("facts")
        if isinstance(facts, dict) and isinstance(facts.get("scale"), dict):
            facts["scale"] = {FORMER_NAMES.get(k, k): v for k, v in facts["scale"].items()}
    elif version != FORMAT:
        raise UserError(f"{path}: checkpoint format {version!r:.40}, this code reads {FORMAT}")
    for name in ("state", "facts", "journal"):
        if not isinstance(note.get(name), dict):
            raise UserError(f"{path}: not a checkpoint of this project (without {name!r})")
    return dict(note)


def load(path: Path, state: TrainState) -> dict[str, Any]:
    """Fill `state`, whose network has the right shape, from `path`.

    After an error `state` is in pieces.

    Returns:
        The facts given to `save`.

    Raises:
        UserError: as `read_note` and `read_tensors`, a weight is not finite, or the JSON of the
            state is not that of a state with as many sources.
    """
    note = load_tensors(path, state)
    _restore(path, state, note["state"])
    facts: dict[str, Any] = note["facts"]
    return facts


def load_tensors(path: Path, state: TrainState) -> dict[str, Any]:
    """Fill the tensors of `state` from `path` and leave the rest as it is.

    Returns:
        As `read_note`.

    Raises:
        UserError: as `load`.
    """
    note = read_note(path)
    _fill(path, dict(named_tensors(state)))
    return note


def load_weights(path: Path, model: GPT) -> None:
    """Fill the network alone from `path`.

    Raises:
        UserError: as `load`.
    """
    read_note(path)
    _fill(path, {f"{WEIGHT}.{name}": weights for name, weights in model.named_parameters()})


def read_tensors(path: Path, shapes: Mapping[str, torch.Size]) -> Iterator[tuple[str, Tensor]]:
    """Yield the named tensors of a checkpoint one by one, in the order of `shapes`, fp32.

    Of the kinds asked for (`weight` and the like) the file must hold just the tensors asked for.

    Raises:
        UserError: a tensor is missing, has another shape or dtype, or is one too many.
    """
    kinds = {name.partition(".")[0] for name in shapes}
    with safe_open(path, framework="pt") as file:
        names = set(file.keys())
        for name in sorted(names - set(shapes)):
            kind = name.partition(".")[0]
            if kind in kinds or kind not in KINDS:
                raise UserError(f"{path}: tensor {name!r:.80} does not belong there")
        for name, shape in shapes.items():
            if name not in names:
                raise UserError(f"{path}: tensor {name} is missing")
            stored = file.get_slice(name)
            held, wanted = stored.get_shape(), list(shape)
            if held != wanted:
                raise UserError(f"{path}: tensor {name} has shape {held}, needed is {wanted}")
            if stored.get_dtype() != "F32":
                raise UserError(f"{path}: tensor {name} is {stored.get_dtype()}, needed is F32")
            yield name, file.get_tensor(name)


def checked(path: Path, value: Any, kind: Any, key: str) -> Any:
    """JSON of a checkpoint in the type `kind`, as `codec.decode` takes it.

    Raises:
        UserError: names the file, the key, the value and what is allowed.
    """
    try:
        return decode(value, kind, key)
    except UserError as error:
        reason = line(error, 200).removesuffix(" in params.yaml")
        raise UserError(f"{path}: {reason}") from error


def _fill(path: Path, tensors: Mapping[str, Tensor]) -> None:
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    with torch.no_grad():
        for name, stored in read_tensors(path, shapes):
            # Moments may overflow in a run without clipping, which must be able to go on.
            if name.startswith(WEIGHT) and not torch.isfinite(stored).all():
                raise UserError(f"{path}: tensor {name} holds a number that is not finite")
            tensors[name].copy_(stored)


def _restore(path: Path, state: TrainState, value: dict[str, Any]) -> None:
    """Let `state` take over JSON, once all of it is checked against the types of its fields."""
    k = len(state.sampler.cursors)
    kinds = get_type_hints(type(state))
    names = encoded(state).keys()
    for name in sorted(names ^ value.keys()):
        raise UserError(f"{path}: state.{name!r:.40} {'missing' if name in names else 'unknown'}")
    read = {name: checked(path, value[name], kinds[name], f"state.{name}") for name in names}
    for name, part in read.items():
        if kinds[name] is int and part < 0:
            raise UserError(f"{path}: state.{name}: {part!r:.20} is negative")
        setattr(state, name, part)
    for sources in (len(state.sampler.cursors), len(state.curriculum.weights)):
        if sources != k:
            raise UserError(f"{path}: made with {sources} sources, needed are {k}")


def refuse_duplicates(path: Path, longest: float = math.inf) -> None:
    """Raise ValueError where a name stands twice in the header: safetensors takes either.

    A header of more than `longest` bytes is not read.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > longest:
            raise ValueError(f"a header of {length} bytes")
        strict_json(file.read(length))


def named_tensors(state: TrainState) -> Iterator[tuple[str, Tensor]]:
    """Every tensor of the state under its name in a file."""
    for name, weights in state.model.named_parameters():
        moments = state.optimizer.state[weights]
        yield f"{WEIGHT}.{name}", weights
        yield f"{FIRST_MOMENT}.{name}", moments["exp_avg"]
        yield f"{SECOND_MOMENT}.{name}", moments["exp_avg_sq"]
        yield f"{UPDATES}.{name}", moments["step"]
