"""What would be read of each source: documents, tokens, copies, held-out overlap.

Reads the text of sources as the stages would, and writes nothing. Works before any stage has run.
Exits with 1 if a source cannot be read.

Example: andrea inspect my-notes --personal
"""

from __future__ import annotations

import argparse
import json
import sys

from andrea.commands.shared import Commands, add_changes, configuration, new_command
from andrea.common import paths


def add(commands: Commands) -> None:
    """Make the command known."""
    command = new_command(commands, inspect, __doc__)
    command.add_argument("source", metavar="SOURCE", nargs="*", help="all, if none is named")
    add_changes(command)
    command.add_argument(
        "--samples", action="store_true", help="show five documents of each; so does naming one"
    )
    command.add_argument("--personal", action="store_true", help="count personal data")
    command.add_argument("--json", action="store_true", help="print JSON")


def inspect(given: argparse.Namespace) -> int:
    """Print what would be read of the sources."""
    from andrea.planning import inspection, inspection_table
    from andrea.tokens.tokenizer import Tokenizer

    config = configuration(given.change)
    names = list(dict.fromkeys(given.source)) or list(config.sources)
    tokenizer = Tokenizer.load(paths.TOKENIZER) if paths.TOKENIZER.is_file() else None
    result = inspection.inspect(
        config, names, tokenizer, look_for_personal=given.personal, tell=_tell
    )
    _tell("")
    if given.json:
        plain = inspection_table.as_json(result)
        print(json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False))
    else:
        print("\n".join(inspection_table.lines(result, given.samples or len(names) == 1)))
    for name, reason in result.errors.items():
        print(f"error: source {name}: {reason}", file=sys.stderr)
    return 1 if result.errors else 0


def _tell(message: str) -> None:
    """Progress: one line that is written over on a terminal, else a line each."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{message}", end="", file=sys.stderr, flush=True)
    elif message:
        print(message, file=sys.stderr)
