"""`andrea export`."""

from __future__ import annotations

import argparse
from pathlib import Path

from andrea import paths
from andrea.commands.shared import Commands, enter_repository
from andrea.config import regime
from andrea.errors import UserError


def add(commands: Commands) -> None:
    """Make the command known."""
    command = commands.add_parser(
        "export",
        help="a checkpoint as the original's .bin file",
        description="Writes weights, moments and step as the original's checkpoint file.",
        epilog="Example: andrea export polish andrea.bin",
    )
    command.add_argument(
        "checkpoint", metavar="CHECKPOINT",
        help=f"a .safetensors file, or a regime: {', '.join(regime.NAMES)}",
    )  # fmt: skip
    command.add_argument("file", metavar="FILE.bin", type=Path, help="what to write")
    command.add_argument("--force", action="store_true", help="replace FILE.bin if it is there")
    command.set_defaults(command=export)


def export(given: argparse.Namespace) -> int:
    """Write a checkpoint as an original file, and tell what such a file leaves out."""
    from andrea.training import checkpoint, original

    target = Path.cwd() / given.file
    source = Path(given.checkpoint)
    if given.checkpoint in regime.NAMES:
        enter_repository()
        source = paths.CHECKPOINTS / given.checkpoint / checkpoint.FILE
    if target.exists():
        if not target.is_file():
            raise UserError(f"{given.file}: not a regular file")
        if source.exists() and target.samefile(source):
            raise UserError(f"{given.file}: is the checkpoint itself")
        if not given.force:
            raise UserError(f"{given.file}: there already; --force replaces it")
    written = original.write(source, target)
    print(
        f"{given.file}: step {written.step}, {written.parameters:,} parameters,"
        f" {written.size_bytes:,} bytes"
    )
    print("not in it: curriculum, sampler, tokens read, and AdamW's counts of updates")
    if written.skipped:
        print(f"its reader takes the step for them, {written.skipped} more than there were")
    return 0
