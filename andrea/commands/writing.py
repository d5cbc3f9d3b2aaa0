"""What the commands that write text share: model, sampling, and what a terminal is shown."""

from __future__ import annotations

import argparse
import io
import os
import sys
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from andrea.commands.shared import enter_repository
from andrea.common.errors import UserError
from andrea.config.training import REGIMES, Compute
from andrea.writing.request import DEFAULTS, Request, read

if TYPE_CHECKING:
    from andrea.model.gpt import GPT
    from andrea.tokens.tokenizer import Tokenizer

MODEL = "polish"
WORDS = {
    "tokens": "most to be written",
    "temperature": "divides the logits; 0 takes the likeliest token",
    "top_k": "likeliest tokens that may be drawn; 0 for all",
    "top_p": "share of probability that is enough for the likeliest tokens to have together",
    "min_p": "least probability, as a share of the likeliest token's",
    "repetition_penalty": "above 1, makes tokens less likely that the text has already",
    "seed": "another one, another text",
}


def add_model(command: argparse.ArgumentParser) -> None:
    """Let a command take a model, as `given.model`, and a device."""
    command.add_argument(
        "model", metavar="MODEL", nargs="?", default=MODEL,
        help=f"{', '.join(REGIMES)}, a .safetensors checkpoint or an exported folder"
        f" (default: {MODEL})",
    )  # fmt: skip
    command.add_argument(
        "--device", choices=("cpu", "cuda", "mps", "auto"), default="cpu",
        help="auto is the best there is (default: cpu)",
    )  # fmt: skip


def add_numbers(command: argparse.ArgumentParser) -> None:
    """Let a command take the numbers that decide a text."""
    for name, words in WORDS.items():
        command.add_argument(
            spell(name),
            metavar="N",
            default=f"{DEFAULTS[name]:g}",
            help=f"{words} (default: %(default)s)",
        )


def prepare_output() -> None:
    """What standard output has no letters for becomes `?`."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def request(given: argparse.Namespace) -> Request:
    """These numbers.

    Raises:
        UserError: names the option, the value and what is allowed.
    """
    return read({name: number(getattr(given, name)) for name in DEFAULTS}, spell)


def spell(name: str) -> str:
    """An option as it is typed."""
    return f"--{name.replace('_', '-')}"


def number(text: str) -> int | float | str:
    """A number that was typed, or the text where it is none."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def load(given: argparse.Namespace) -> tuple[GPT, Tokenizer]:
    """The model on its device; as `andrea.writing.load`.

    Raises:
        UserError: there is no such device, or no repository here or above that the model needs.
    """
    from andrea.training import machine
    from andrea.writing.load import load

    try:
        on = machine.prepare(Compute(given.device, "fp32", False, "auto"))
    except UserError as error:
        raise UserError(str(error).replace("compute.device", "--device")) from error
    model, tokenizer = load(find(given.model))
    return model.to(on.device), tokenizer


def find(model: str) -> str:
    """Where a model of the command line is, once the repository is entered that it needs.

    Raises:
        UserError: it needs one, and there is none here or above.
    """
    if model in REGIMES:
        enter_repository()
    elif Path(model).is_file():
        model = str(Path.cwd() / model)
        enter_repository()
    return model


def utf8(argument: str, name: str) -> str:
    """Text of the command line; as `decoded`."""
    return decoded(os.fsencode(argument), name)


def decoded(content: bytes, name: str) -> str:
    """Text of a user.

    Raises:
        UserError: it is not UTF-8; `name` says what it is.
    """
    try:
        return content.decode("utf-8")
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
