"""A checkpoint with the tokenizer that it was trained with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from andrea.common.errors import UserError
from andrea.common.files import sha256
from andrea.config.training import Scale
from andrea.model.gpt import GPT
from andrea.tokens.tokenizer import Tokenizer
from andrea.training import checkpoint


@dataclass(frozen=True)
class Trained:
    """What a checkpoint and a tokenizer file hold together."""

    scale: Scale
    state: Mapping[str, Any]  # JSON of the training state
    # JSON that the run noted; without `regime` and `train` where it was imported.
    facts: Mapping[str, Any]
    checkpoint_sha256: str  # hex, of the whole file
    tokenizer_sha256: str
    model: GPT  # fp32 on the CPU
    tokenizer: Tokenizer  # of the model's vocabulary

    @property
    def step(self) -> int:
        """Optimiser steps done."""
        return int(self.state["step"])


def read(file: Path, tokenizer_file: Path) -> Trained:
    """Load both.

    Raises:
        UserError: one is missing or damaged, or they do not belong together.
    """
    note = checkpoint.read_note(file)
    scale: Scale = checkpoint.checked(file, note["facts"].get("scale"), Scale, "scale")
    checkpoint.checked(file, note["state"].get("step"), int, "state.step")
    if file.stat().st_size < 4 * scale.parameters:
        raise UserError(f"{file}: too short for the {scale.parameters} parameters of its scale")
    tokenizer = read_tokenizer(file, note["facts"], scale, tokenizer_file)
    model = GPT(scale)
    checkpoint.load_weights(file, model)
    return Trained(
        scale, note["state"], note["facts"], sha256(file), sha256(tokenizer_file), model, tokenizer
    )


def read_tokenizer(
    file: Path, facts: Mapping[str, Any], scale: Scale, tokenizer_file: Path
) -> Tokenizer:
    """The tokenizer of a checkpoint, which knows its digest unless it was imported.

    Raises:
        UserError: it is missing, or that of another run.
    """
    tokenizer = Tokenizer.load(tokenizer_file)
    if facts.get("tokenizer", digest := sha256(tokenizer_file)) != digest:
        raise UserError(f"{tokenizer_file}: not the tokenizer that {file} was trained with")
    if tokenizer.vocabulary_size != scale.vocabulary:
        raise UserError(
            f"{tokenizer_file}: {tokenizer.vocabulary_size} ids, {file} has {scale.vocabulary}"
        )
    return tokenizer
