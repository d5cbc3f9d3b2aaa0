"""The user's commands: `andrea plan` and `andrea tokenize`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from andrea import paths
from andrea.config import everything, reading
from andrea.config.override import override
from andrea.errors import UserError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The exit status: 0, 1 where a planned run would be refused, 2 after a mistake of the user,
        which is told in one line.
    """
    given = _parser().parse_args(arguments)
    try:
        status: int = given.command(given)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def plan(given: argparse.Namespace) -> int:
    """Print what a run of the present parameters takes and needs, and what would be refused."""
    from andrea.planning import estimate, table

    _enter_repository()
    params = override(reading.load(paths.PARAMS), given.change)
    everything.check(params)
    planned = estimate.plan(params, estimate.read_lengths(params))
    speed, refusals = None, []
    if given.measure:
        from andrea.planning import speed as speeds

        try:
            speed = speeds.measure(params)
        except UserError as error:
            refusals.append(str(error))
    print("\n".join(table.lines(planned, speed, refusals)))
    return 1 if [*planned.refusals, *refusals] else 0


def tokenize(given: argparse.Namespace) -> int:
    """Print how the tokenizer cuts a text."""
    from andrea.text.display import segmentation
    from andrea.text.tokenizer import Tokenizer

    text = _text(given.text)
    if given.tokenizer is None:
        _enter_repository()
    tokenizer = Tokenizer.load(given.tokenizer or paths.TOKENIZER)
    ids = tokenizer.encode(text).tolist()
    size = len(text.encode())
    print(segmentation(tokenizer.pieces[i] for i in ids))
    print(*ids)
    ratio = f", {size / len(ids):.2f} bytes per token" if ids else ""
    print(f"{len(ids)} tokens, {size} bytes{ratio}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="andrea",
        description="Looks at a run before it is started, and at what came of it.",
        epilog="`dvc repro` trains. `andrea COMMAND --help` tells more about a command.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    command = commands.add_parser(
        "plan",
        help="size, epochs, memory, disk and time of a run, and whether it would be refused",
        description="What a run of params.yaml takes and needs. Exits with 1 if it is refused.",
        epilog="Example: andrea plan -S scale=andrea-12m -S polish.floor=0.5",
    )
    command.add_argument(
        "-S", dest="change", metavar="KEY=VALUE", action="append", default=[],
        help="change a parameter for this plan, as in `dvc exp run -S`; may be repeated",
    )  # fmt: skip
    command.add_argument(
        "--no-measure", dest="measure", action="store_false",
        help="leave out speed and time, which take some seconds of training to measure",
    )  # fmt: skip
    command.set_defaults(command=plan)

    command = commands.add_parser(
        "tokenize",
        help="how the tokenizer cuts a text",
        description="Shows the pieces of a text (· is a space, ⏎ a line break, <e2 82> bytes that"
        " are no character by themselves), their ids, and bytes per token.",
        epilog='Example: andrea tokenize "This land was made for you and me."',
    )
    command.add_argument("text", metavar="TEXT", help="the text; - reads it from standard input")
    command.add_argument(
        "--tokenizer", metavar="PATH", type=Path, help=f"instead of {paths.TOKENIZER}"
    )
    command.set_defaults(command=tokenize)
    return parser


def _text(argument: str) -> str:
    try:
        if argument == "-":
            return sys.stdin.buffer.read().decode("utf-8")
        return os.fsencode(argument).decode("utf-8")
    except UnicodeDecodeError as error:
        place = "standard input" if argument == "-" else "TEXT"
        raise UserError(f"{place}: invalid UTF-8 at byte {error.start}") from error


def _enter_repository() -> None:
    """Paths are relative to the repository: go there from a folder inside it."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / paths.PARAMS).is_file():
            os.chdir(folder)
            return
    raise UserError(f"{paths.PARAMS}: neither in {here} nor above; go into the repository")


if __name__ == "__main__":
    sys.exit(main())
