"""What the commands that write text share: model, sampling, and what a terminal is shown."""

from __future__ import annotations

import argparse
import os
import unicodedata
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from andrea.commands.shared import enter_repository
from andrea.config import regime
from andrea.config.compute import Compute
from andrea.config.reading import Range, convert
from andrea.errors import UserError

if TYPE_CHECKING:
    from andrea.model.filters import Sampling
    from andrea.model.gpt import GPT
    from andrea.text.tokenizer import Tokenizer

MODEL = "polish"
COUNT = Annotated[int, Range(1, 1_000_000)]
SEED = Annotated[int, Range(0, 2**32 - 1)]
SAMPLING = {
    "temperature": ("0.8", "divides the logits; 0 takes the likeliest token"),
    "top_k": ("50", "likeliest tokens that may be drawn; 0 for all"),
    "top_p": ("1", "share of probability that the likeliest tokens must reach to be enough"),
    "min_p": ("0", "least probability, as a share of the likeliest token's"),
    "repetition_penalty": ("1", "above 1, makes tokens less likely that the text has already"),
}


def add_model(command: argparse.ArgumentParser) -> None:
    """Let a command take a model, as `given.model`, and a device."""
    command.add_argument(
        "model", metavar="MODEL", nargs="?", default=MODEL,
        help=f"{', '.join(regime.NAMES)}, a .safetensors checkpoint or an exported folder"
        f" (default: {MODEL})",
    )  # fmt: skip
    command.add_argument(
        "--device", choices=("cpu", "cuda", "mps", "auto"), default="cpu",
        help="auto is the best there is (default: cpu)",
    )  # fmt: skip


def add_sampling(command: argparse.ArgumentParser, tokens: str) -> None:
    """Let a command take what decides the next token; `tokens` is the default of `--tokens`."""
    command.add_argument(
        "--tokens", metavar="N", default=tokens, help=f"most to be written (default: {tokens})"
    )
    for name, (default, words) in SAMPLING.items():
        command.add_argument(
            f"--{name.replace('_', '-')}", metavar="X", default=default,
            help=f"{words} (default: {default})",
        )  # fmt: skip
    command.add_argument(
        "--seed", metavar="N", default="0", help="another one, another text (default: 0)"
    )


def sampling(given: argparse.Namespace) -> Sampling:
    """How tokens are taken.

    Raises:
        UserError: names the option, the value and what is allowed.
    """
    from andrea.model.filters import Sampling

    kinds = get_type_hints(Sampling, include_extras=True)
    names = [field.name for field in fields(Sampling)]
    return Sampling(**{name: option(given, name, kinds[name]) for name in names})


def option(given: argparse.Namespace, name: str, kind: Any) -> Any:
    """A number that an option names, in the type `kind`.

    Raises:
        UserError: names the option, the value and what is allowed.
    """
    return convert(_number(getattr(given, name)), kind, f"--{name.replace('_', '-')}")


def load(given: argparse.Namespace) -> tuple[GPT, Tokenizer]:
    """The model on its device.

    Raises:
        UserError: as `andrea.writing.load`, or there is no such device.
    """
    from andrea.training import machine
    from andrea.writing.load import load

    on = machine.prepare(Compute(given.device, "fp32", False, "auto"))
    model, tokenizer = load(find(given.model))
    return model.to(on.device), tokenizer


def find(model: str) -> str:
    """Where a model of the command line is, once the repository is entered that it needs.

    Raises:
        UserError: it needs one, and there is none here or above.
    """
    if model in regime.NAMES:
        enter_repository()
    elif Path(model).is_file():
        model = str(Path.cwd() / model)
        enter_repository()
    return model


def utf8(argument: str, name: str) -> str:
    """Text of the command line.

    Raises:
        UserError: it is not UTF-8; `name` says what it is.
    """
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: invalid UTF-8 at byte {error.start}") from error


def visible(text: str, terminal: bool) -> str:
    """Text for standard output; a terminal gets no control characters, which could command it."""
    if not terminal:
        return text
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) == "Cc" and c not in "\n\t" else c
        for c in text
    )


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
