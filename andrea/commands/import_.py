"""The original's .bin file as a checkpoint to train on from.

Reads weights, moments and step from the original's checkpoint file, for the scale of params.yaml,
into data/imported; prints the command that trains on from there.

Example: andrea import andrea.bin -S scale=andrea-12m
"""

from __future__ import annotations

import argparse
import shlex
from dataclasses import asdict
from pathlib import Path

from andrea.commands.shared import Commands, add_changes, configuration, new_command
from andrea.config.training import last_step
from andrea.config.tree import Config

IMPORTED = Path("data/imported")


def add(commands: Commands) -> None:
    """Make the command known."""
    command = new_command(commands, import_, __doc__)
    command.add_argument("file", metavar="FILE.bin", type=Path, help="what to read")
    add_changes(command)


def import_(given: argparse.Namespace) -> int:
    """Write a checkpoint named after its content, and print the command that goes on from it."""
    file = Path.cwd() / given.file
    config = configuration(given.change)

    from andrea.exporting import original
    from andrea.training import state

    read = state.new(config.scale, config.optimizer, len(config.sources), None)
    digest = original.read(file, read, config.scale, config.scales)
    facts = {"scale": asdict(config.scale), "original_sha256": digest}
    path = original.keep(IMPORTED, read, facts)
    changes = [*given.change, f"warmup.start={path}"]
    print(f"{path}: step {read.step}; curriculum, sampler and count of tokens start anew")
    print(_what_is_left(config, read.step))
    print("dvc exp run", *(f"-S {shlex.quote(change)}" for change in changes))
    return 0


def _what_is_left(config: Config, step: int) -> str:
    """Which regimes have steps after `step`."""
    left = []
    for name, regime in config.regimes.items():
        end = last_step(regime, config.scale.steps)
        trains = f"trains steps {step} to {end}" if end > step else "has nothing to do"
        left.append(f"{name} {trains}")
        step = max(step, end)
    return ", ".join(left)
