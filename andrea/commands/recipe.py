"""`andrea recipe`."""

from __future__ import annotations

import argparse
from pathlib import Path

from andrea.commands.shared import Commands, enter_repository
from andrea.common import files, paths
from andrea.config import reading, recipe, tree


def add(commands: Commands) -> None:
    """Make the command known."""
    command = commands.add_parser(
        "recipe",
        help=f"write the parameters of a file into {paths.PARAMS}",
        description=f"Merges FILE, which holds only what differs, into {paths.PARAMS}; comments"
        f" stay. `git checkout {paths.PARAMS}` undoes it.",
        epilog="Example: andrea recipe recipes/andrea-120m.yaml",
    )
    command.add_argument("file", metavar="FILE", type=Path)
    command.add_argument("--show", action="store_true", help="only say what would change")
    command.set_defaults(command=apply)


def apply(given: argparse.Namespace) -> int:
    """Write a recipe into the parameters, if the result is valid, and say what changed."""
    new = reading.load(given.file)
    enter_repository()
    params = reading.load(paths.PARAMS)
    tree.read(recipe.merged(params, new))
    changed = recipe.changes(params, new)
    for key, value in changed.items():
        print(f"{key}: {value}")
    if not changed:
        print("nothing would change" if given.show else "nothing changed")
    elif not given.show:
        written = recipe.write(paths.PARAMS.read_text(encoding="utf-8"), new)
        with files.whole_file(paths.PARAMS) as part:
            part.write_text(written, encoding="utf-8")
    return 0
