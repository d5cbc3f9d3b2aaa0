"""Size, epochs, memory, disk and time of a run, and whether it would be refused.

What a run of params.yaml takes and needs. Exits with 1 if it is refused.

Example: andrea plan -S scale=andrea-12m -S polish.floor=0.5
"""

from __future__ import annotations

import argparse

from andrea.commands.shared import Commands, add_changes, configuration, new_command
from andrea.common.errors import UserError


def add(commands: Commands) -> None:
    """Make the command known."""
    command = new_command(commands, plan, __doc__)
    add_changes(command)
    command.add_argument(
        "--no-measure", dest="measure", action="store_false",
        help="leave out speed and time, which take some seconds of training to measure",
    )  # fmt: skip


def plan(given: argparse.Namespace) -> int:
    """Print what a run of the present parameters takes and needs, and what would be refused."""
    from andrea.planning import estimate, table

    config = configuration(given.change)
    planned = estimate.plan(config, estimate.read_lengths(config))
    speed, refusals = None, estimate.missing_files(config)
    if given.measure:
        from andrea.planning import speed as speeds

        try:
            speed = speeds.measure(config)
        except UserError as error:
            refusals.append(str(error))
    print("\n".join(table.lines(planned, speed, refusals)))
    return 1 if [*planned.refusals, *refusals] else 0
