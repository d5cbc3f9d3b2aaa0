"""`andrea import`."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import asdict
from pathlib import Path

from andrea.commands.shared import Commands, add_changes, configuration, enter_repository
from andrea.config.training import last_step
from andrea.config.tree import Config

IMPORTED = Path("data/imported")


def add(commands: Commands) -> None:
    """Make the command known."""
    command = commands.add_parser(
        "import",
        help="the original's .bin file as a checkpoint to train on from",
        description="Reads weights, moments and step from the original's checkpoint file, for the"
        f" scale of params.yaml, into {IMPORTED}; prints the command that trains on from there.",
        epilog="Example: andrea import andrea.bin -S scale=andrea-12m",
    )
    command.add_argument("file", metavar="FILE.bin", type=Path, help="what to read")
    add_changes(command)
    command.set_defaults(command=import_)


def import_(given: argparse.Namespace) -> int:
    """Write a checkpoint named after its content, and print the command that goes on from it."""
    file = Path.cwd() / given.file
    enter_repository()
    config = configuration(given.change)
    path, step = _convert(file, config)
    changes = [*given.change, f"warmup.start={path}"]
    print(f"{path}: step {step}; curriculum, sampler and count of tokens start anew")
    print(_what_is_left(config, step))
    print("dvc exp run", *(f"-S {shlex.quote(change)}" for change in changes))
    return 0


def _convert(file: Path, config: Config) -> tuple[Path, int]:
    from andrea.exporting import original
    from andrea.training import state

    scale, known = config.scale, config.scales
    read = state.new(scale, config.optimizer, len(config.sources), None)
    digest = original.read(file, read, scale, known)
    facts = {"scale": asdict(scale), "original_sha256": digest}
    return original.keep(IMPORTED, read, facts), read.step


def _what_is_left(config: Config, step: int) -> str:
    """Which regimes have steps after `step`."""
    steps = config.scale.steps
    first, left = step, []
    for name, regime in config.regimes.items():
        end = last_step(regime, steps)
        if end > first:
            left.append(f"{name} trains steps {first} to {end}")
            first = end
        else:
            left.append(f"{name} has nothing to do")
    return ", ".join(left)
