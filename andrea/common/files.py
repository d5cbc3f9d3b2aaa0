"""Files that are either whole or not there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NoReturn

NAME_DIGITS = 16  # of the SHA-256 of the content, in hex, that end a file's name


def write_json(path: Path, value: Any) -> None:
    """Write `value` as JSON with sorted keys: equal values give equal bytes.

    Raises:
        ValueError: a float is NaN or infinite (JSON has no word for it).
    """
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read one JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def strict_json(text: str | bytes) -> Any:
    """JSON from elsewhere, in which nothing can be read in two ways.

    Raises:
        ValueError: it is not JSON, a name stands in an object twice, or a number is none.
        RecursionError: it is too deep.
    """
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)


def sha256(path: Path) -> str:
    """Hex SHA-256 of a file, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_file(path: Path) -> None:
    """Have the disk hold what a file holds."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Have the disk hold what was renamed in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands in it twice")
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


@contextmanager
def whole_file(path: Path, *, sync: bool = False) -> Iterator[Path]:
    """Yield a path beside `path` that takes its place when the block ends without an error.

    A block that fails leaves nothing; one that is killed leaves a `.part` file that nothing reads.

    Args:
        sync: whether the disk must hold it before the block is left, for what a power cut may not
            take.
    """
    with own_part(path) as part:
        yield part
        if sync:
            sync_file(part)
        part.replace(path)
    if sync:
        sync_folder(path.parent)


def write_by_content(folder: Path, prefix: str, write: Callable[[Path], None]) -> Path:
    """Write safetensors whose name tells their content, whole or not, and have the disk hold them.

    Such a file is what was written, or has been damaged since: `holds_its_content` tells.
    """
    with own_part(folder / "written") as part:
        write(part)
        sync_file(part)
        path = part.replace(folder / f"{prefix}{_digest(part)}.safetensors")
    sync_folder(folder)
    return path


def holds_its_content(path: Path) -> bool:
    """Whether a file of `write_by_content` is as it was written."""
    return path.stem.rpartition("-")[2] == _digest(path)


def _digest(path: Path) -> str:
    return sha256(path)[:NAME_DIGITS]


@contextmanager
def own_part(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` that no other process has; what is still there afterwards goes."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield part
    finally:
        with suppress(OSError):
            shutil.rmtree(part) if part.is_dir() else part.unlink()


@contextmanager
def whole_folder(path: Path, *, sync: bool = False) -> Iterator[Path]:
    """Yield an empty folder that takes the place of `path` when the block ends without an error.

    Args:
        sync: as in `whole_file`. Such a folder may stand among files of others, so its part is this
            process's own; else an interrupted block leaves `path` with `.part` behind it, which
            nothing reads and the next run removes.
    """
    with own_part(path) if sync else nullcontext(path.with_name(path.name + ".part")) as part:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        yield part
        shutil.rmtree(path, ignore_errors=True)
        part.replace(path)
    if sync:
        sync_folder(path.parent)
