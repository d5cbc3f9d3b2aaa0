"""Write the parameters of a file into params.yaml.

Merges FILE, which holds only what differs, into params.yaml; comments stay. `git checkout
params.yaml` undoes it.

Example: andrea recipe recipes/andrea-120m.yaml
"""

from __future__ import annotations

import argparse
from pathlib import Path

from andrea.commands.shared import Commands, enter_repository, new_command
from andrea.common import files, paths
from andrea.config import reading, tree
from andrea.config.recipe import changes, merged, write


def add(commands: Commands) -> None:
    """Make the command known."""
    command = new_command(commands, recipe, __doc__)
    command.add_argument("file", metavar="FILE", type=Path)
    command.add_argument("--show", action="store_true", help="only say what would change")


def recipe(given: argparse.Namespace) -> int:
    """Write a recipe into the parameters, if the result is valid, and say what changed."""
    new = reading.load(given.file)
    enter_repository()
    params = reading.load(paths.PARAMS)
    tree.read(merged(params, new))
    changed = changes(params, new)
    for key, value in changed.items():
        print(f"{key}: {value}")
    if not changed:
        print("nothing would change" if given.show else "nothing changed")
    elif not given.show:
        written = write(paths.PARAMS.read_text(encoding="utf-8"), new)
        with files.whole_file(paths.PARAMS) as part:
            part.write_text(written, encoding="utf-8")
    return 0
