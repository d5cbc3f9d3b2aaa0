"""A checkpoint as a folder for transformers, an ONNX file, or the original's .bin.

Writes a checkpoint for others to use. The ending of TARGET says as what: .bin is the original's
checkpoint file with a file of its segments beside it, .onnx the network alone, and any other name a
folder for transformers with tokenizer and card.

Example: andrea export polish my-model
"""

from __future__ import annotations

import argparse
from pathlib import Path

from andrea.commands.shared import Commands, enter_repository, new_command
from andrea.common import paths
from andrea.common.errors import UserError, line
from andrea.config.training import REGIMES

BINARY, ONNX = ".bin", ".onnx"


def add(commands: Commands) -> None:
    """Make the command known."""
    command = new_command(commands, export, __doc__)
    command.add_argument(
        "checkpoint", metavar="CHECKPOINT",
        help=f"a .safetensors file, or a regime: {', '.join(REGIMES)}",
    )  # fmt: skip
    command.add_argument("target", metavar="TARGET", help="what to write")
    command.add_argument(
        "--force", action="store_true", help="replace TARGET where an earlier export wrote it"
    )
    command.add_argument(
        "--tokenizer", metavar="FILE", type=Path,
        help=f"of the checkpoint (default: {paths.TOKENIZER} of the repository)",
    )  # fmt: skip


def export(given: argparse.Namespace) -> int:
    """Write a checkpoint in the form that the target's name asks for."""
    from andrea.training import checkpoint

    known = given.checkpoint in REGIMES
    ending = _ending(given.target)
    given.target = Path(given.target)
    target = Path.cwd() / given.target
    source = Path.cwd() / given.checkpoint
    tokenizer = None if given.tokenizer is None else Path.cwd() / given.tokenizer
    if not known and not source.exists():
        allowed = f"{', '.join(REGIMES)} or a .safetensors file"
        raise UserError(f"{line(given.checkpoint)}: no such checkpoint; it is {allowed}")
    if known or tokenizer is None:
        enter_repository()
    if known:
        source = paths.CHECKPOINTS / given.checkpoint / checkpoint.FILE
    elif source.is_relative_to(Path.cwd()):
        source = source.relative_to(Path.cwd())
    try:
        if target.is_symlink():
            raise UserError(f"{given.target}: a link, which an export does not replace")
        if not target.parent.is_dir():
            raise UserError(f"{given.target}: there is no folder {given.target.parent}")
        write = {BINARY: _binary, ONNX: _onnx}.get(ending, _folder)
        return write(given, source, tokenizer or paths.TOKENIZER, target)
    except OSError as error:
        raise UserError(f"{given.target}: cannot be written ({error.strerror})") from error


def _ending(target: str) -> str:
    """What a target's name says that it is, in small letters."""
    name = Path(target).name.lower()
    if not target or name in (BINARY, ONNX):
        raise UserError(f"TARGET: {target!r} is not allowed, must hold a name before its ending")
    return Path(name).suffix


def _folder(given: argparse.Namespace, source: Path, tokenizer: Path, target: Path) -> int:
    from andrea.exporting import card, figures, folder, trained

    if target.exists() and not target.is_dir():
        raise UserError(f"{given.target}: not a folder")
    if target.exists() and any(target.iterdir()):
        if not folder.is_ours(target):
            raise UserError(f"{given.target}: there already, and not as an export wrote it")
        if not given.force:
            raise UserError(f"{given.target}: there already; --force replaces it")
        if name := folder.changed(target):
            raise UserError(
                f"{given.target / name}: changed since the export, so it is not replaced; move or"
                " remove it"
            )
    read = trained.read(source, tokenizer)
    known = figures.gather(
        read, target.name, paths.RAW, paths.SHARDS, paths.CHECKPOINTS, paths.REPORTS
    )
    folder.write(target, read.model, read.tokenizer, card.render(read, known))
    size_bytes = sum(file.stat().st_size for file in target.iterdir())
    _tell(given, read.step, read.scale.parameters, size_bytes)
    print("not in it: AdamW's moments, curriculum and sampler; no code either")
    return 0


def _onnx(given: argparse.Namespace, source: Path, tokenizer: Path, target: Path) -> int:
    from andrea.exporting import graph, trained

    if _is_there(given, source, target) and not graph.is_ours(target):
        raise UserError(f"{given.target}: not what an export wrote, so it is not replaced")
    read = trained.read(source, tokenizer)
    facts = {
        "context": str(read.scale.context),
        "checkpoint_sha256": read.checkpoint_sha256,
        "tokenizer_sha256": read.tokenizer_sha256,
    }
    difference = graph.write(target, read.model, facts)
    _tell(given, read.step, read.scale.parameters, target.stat().st_size)
    print(f"onnxruntime's logits are off by {difference:.1e} of the largest at most")
    print(f"not in it: the tokenizer ({tokenizer}), AdamW's moments, curriculum and sampler")
    return 0


def _binary(given: argparse.Namespace, source: Path, tokenizer: Path, target: Path) -> int:
    from andrea.exporting import binary

    beside = binary.segments_path(target)
    shown = given.target.with_name(beside.name)
    if _is_there(given, source, target) and not binary.is_original(target):
        raise UserError(f"{given.target}: not an original checkpoint, so it is not replaced")
    if _is_there(given, source, beside, shown) and not binary.are_segments(beside):
        raise UserError(f"{shown}: not what an export wrote, so it is not replaced")
    written = binary.write(source, tokenizer, target)
    _tell(given, written.step, written.parameters, written.size_bytes)
    print(f"{shown}: the segments")
    print("not in it: curriculum, sampler, tokens read, and AdamW's counts of updates")
    if written.skipped:
        print(f"its reader takes the step for them, {written.skipped} more than there were")
    return 0


def _is_there(
    given: argparse.Namespace, source: Path, target: Path, shown: Path | None = None
) -> bool:
    """Whether there is a file, which may be replaced if it is what an export writes."""
    shown = shown or given.target
    if not target.exists():
        return False
    if not target.is_file():
        raise UserError(f"{shown}: not a regular file")
    if source.exists() and target.samefile(source):
        raise UserError(f"{shown}: is the checkpoint itself")
    if not given.force:
        raise UserError(f"{shown}: there already; --force replaces it")
    return True


def _tell(given: argparse.Namespace, step: int, parameters: int, size_bytes: int) -> None:
    print(f"{given.target}: step {step}, {parameters:,} parameters, {size_bytes:,} bytes")
