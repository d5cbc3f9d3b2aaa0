"""What several commands do: find the repository, read its parameters."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from andrea.common import paths
from andrea.common.errors import UserError
from andrea.config import tree
from andrea.config.tree import Config

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


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
    """Parameters of the repository that was entered, changed and checked.

    Raises:
        UserError: names the parameter.
    """
    return tree.load(paths.PARAMS, changes)
