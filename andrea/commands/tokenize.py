"""How the tokenizer cuts a text.

Shows the pieces of a text (· is a space, ⏎ a line break, <e2 82> bytes that are no character by
themselves), their ids, and bytes per token.

Example: andrea tokenize "This land was made for you and me."
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from andrea.commands.shared import Commands, enter_repository, new_command
from andrea.commands.writing import decoded, utf8
from andrea.common import paths


def add(commands: Commands) -> None:
    """Make the command known."""
    command = new_command(commands, tokenize, __doc__)
    command.add_argument("text", metavar="TEXT", help="the text; - reads it from standard input")
    command.add_argument(
        "--tokenizer", metavar="PATH", type=Path, help=f"instead of {paths.TOKENIZER}"
    )


def tokenize(given: argparse.Namespace) -> int:
    """Print how the tokenizer cuts a text."""
    from andrea.tokens.display import segmentation
    from andrea.tokens.tokenizer import Tokenizer

    if given.text == "-":
        text = decoded(sys.stdin.buffer.read(), "standard input")
    else:
        text = utf8(given.text, "TEXT")
    if given.tokenizer is None:
        enter_repository()
    tokenizer = Tokenizer.load(given.tokenizer or paths.TOKENIZER)
    ids = tokenizer.encode(text).tolist()
    size = len(text.encode())
    print(segmentation(tokenizer.pieces[i] for i in ids))
    print(*ids)
    ratio = f", {size / len(ids):.2f} bytes per token" if ids else ""
    print(f"{len(ids)} tokens, {size} bytes{ratio}")
    return 0
