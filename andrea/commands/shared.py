"""What several commands do: say what they are, find the repository, read its parameters."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from andrea.common import paths
from andrea.common.errors import UserError
from andrea.config import tree
from andrea.config.tree import Config

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def new_command(
    commands: Commands, run: Callable[[argparse.Namespace], int], about: str | None
) -> argparse.ArgumentParser:
    """A command named as the function `run`, which is given its arguments.

    Args:
        about: docstring of the command's module, which its help shows: what it is for in a line,
            more about it, and an example.
    """
    short, long, example = (about or "").split("\n\n")
    command = commands.add_parser(
        run.__name__.strip("_").replace("_", "-"),
        help=short[0].lower() + short[1:].rstrip("."), description=long, epilog=example,
    )  # fmt: skip
    command.set_defaults(command=run)
    return command


def enter_repository() -> None:
    """Paths are relative to the repository: go there from a folder inside it.

    Raises:
        UserError: there is none here or above.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / paths.PARAMS).is_file():
            os.chdir(folder)
            return
    raise UserError(f"{paths.PARAMS}: neither in {here} nor above; go into the repository")


def add_changes(command: argparse.ArgumentParser) -> None:
    """Let a command take `-S KEY=VALUE`, as `given.change`."""
    command.add_argument(
        "-S", dest="change", metavar="KEY=VALUE", action="append", default=[],
        help="change a parameter for this command, as in `dvc exp run -S`; may be repeated",
    )  # fmt: skip


def configuration(changes: Iterable[str] = ()) -> Config:
    """Enter the repository, and read its parameters, changed and checked.

    Raises:
        UserError: there is no repository, or a parameter is wrong.
    """
    enter_repository()
    return tree.load(paths.PARAMS, changes)
