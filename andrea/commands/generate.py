"""Text from a model, from a prompt or from nothing.

Continues a prompt. The text ends where the model begins another one, at a stop mark, or after N
tokens. The same seed gives the same text.

Example: andrea generate --prompt "It was a cold morning when" --samples 3
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from andrea.commands import writing
from andrea.commands.shared import Commands, new_command
from andrea.common.codec import decode
from andrea.common.errors import UserError
from andrea.common.seeds import Purpose
from andrea.writing.request import COUNT

if TYPE_CHECKING:
    from andrea.writing.pieces import Piece


def add(commands: Commands) -> None:
    """Make the command known."""
    command = new_command(commands, generate, __doc__)
    writing.add_model(command)
    prompt = command.add_mutually_exclusive_group()
    prompt.add_argument("--prompt", metavar="TEXT", help="what the text begins with")
    prompt.add_argument(
        "--prompt-file", metavar="FILE",
        help="a file with it; - is standard input, also taken where it is no terminal."
        " The last line break is left out",
    )  # fmt: skip
    writing.add_numbers(command)
    command.add_argument(
        "--samples", metavar="N", default="1", help="texts, one after the other (default: 1)"
    )
    command.add_argument(
        "--stop", metavar="MARK", action="append", default=[],
        help="the text ends before it; may be repeated",
    )  # fmt: skip
    command.add_argument(
        "--json", action="store_true", help="an object a line for each text, with its prompt apart"
    )


def generate(given: argparse.Namespace) -> int:
    """Print texts, each while it is written."""
    writing.prepare_output()
    asked = writing.request(given)
    samples = decode(writing.number(given.samples), COUNT, "--samples")
    if "" in given.stop:
        raise UserError("--stop: '' is not allowed, must hold a character")
    marks = [writing.utf8(mark, "--stop") for mark in given.stop]
    prompt = read_prompt(given)

    from andrea.writing.pieces import write

    model, tokenizer = writing.load(given)
    needed = 1 + len(tokenizer.encode(prompt))
    if needed > model.context:
        note = f"(the prompt takes {needed} tokens of {model.context}: only its end is read)"
        print(note, file=sys.stderr)
    for number in range(1, samples + 1):
        key = (asked.seed, Purpose.WRITING, number)
        pieces = write(model, tokenizer, prompt, asked.sampling, asked.tokens, key, marks)
        if given.json:
            facts = {"prompt": prompt, "sample": number, "seed": asked.seed}
            print(_as_json(pieces, facts), flush=True)
            continue
        if samples > 1:
            print(f"--- sample {number} of {samples} ---")
        terminal = sys.stdout.isatty()
        print(writing.visible(prompt, terminal), end="", flush=True)
        for piece in pieces:
            print(writing.visible(piece.text, terminal), end="", flush=True)
        print(flush=True)
    return 0


def read_prompt(given: argparse.Namespace) -> str:
    """The prompt of the command line, of a file or of standard input; '' where there is none.

    Raises:
        UserError: it cannot be read, or is not UTF-8.
    """
    if given.prompt is not None:
        return writing.utf8(given.prompt, "--prompt")
    name = given.prompt_file
    if name is None and (sys.stdin is None or sys.stdin.isatty()):
        return ""
    try:
        if name in (None, "-"):
            name = "standard input"
            content = sys.stdin.buffer.read()
        else:
            content = Path(name).read_bytes()
    except OSError as error:
        raise UserError(f"{name}: cannot be read ({error.strerror})") from error
    return writing.decoded(content, name).removesuffix("\n").removesuffix("\r")


def _as_json(pieces: Iterable[Piece], facts: dict[str, object]) -> str:
    written = list(pieces)
    record = {
        "text": "".join(piece.text for piece in written),
        "tokens": written[-1].tokens,
        "end": written[-1].end,
    }
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    return json.dumps(facts | record, ensure_ascii=ascii_only, sort_keys=True)
