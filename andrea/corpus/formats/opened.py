"""Bytes of a file, decompressed on the way; gzip and Zstandard are known by their first bytes."""

from __future__ import annotations

import gzip
import io
import json
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from andrea.common.errors import UserError

MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
SUFFIXES = {".gz": "gzip", ".zst": "zstd"}
FAULTS = (EOFError, OSError, zlib.error)  # of a stream that is cut or is no such stream


def compression(path: Path) -> str | None:
    """`gzip`, `zstd` or None: what the bytes are, and where they are neither, what the name says.

    So a name that promises a compression which the bytes do not keep is an error when it is read.

    Raises:
        UserError: the file cannot be opened.
    """
    with _plain(path) as file:
        start = file.read(max(map(len, MAGIC.values())))
    for name, magic in MAGIC.items():
        if start.startswith(magic):
            return name
    return SUFFIXES.get(path.suffix.lower())


def stream(path: Path) -> BinaryIO:
    """Open a file for reading, decompressed. Reading may raise one of `FAULTS`.

    Raises:
        UserError: the file cannot be opened.
    """
    kind = compression(path)
    if kind is None:
        return _plain(path)
    if kind == "gzip":
        return cast(BinaryIO, gzip.open(path))
    import pyarrow

    packed = pyarrow.CompressedInputStream(pyarrow.OSFile(str(path)), "zstd")
    return cast(BinaryIO, io.BufferedReader(packed))


def start(path: Path, size: int) -> bytes:
    """First bytes of a file, decompressed; fewer where it is shorter.

    Raises:
        UserError: the file cannot be opened or decompressed.
    """
    with stream(path) as file:
        try:
            return file.read(size)
        except FAULTS as error:
            raise UserError(f"{path}: {unreadable(path, error)}") from error


def lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, decompressed; one is in memory at a time.

    Raises:
        UserError: the file cannot be opened, or a line cannot be read.
    """
    number = 0
    with stream(path) as file:
        while True:
            number += 1
            try:
                line = file.readline()
            except FAULTS as error:
                raise UserError(f"{path}, line {number}: {unreadable(path, error)}") from error
            if not line:
                return
            yield line


def unreadable(path: Path, error: Exception) -> str:
    """Why a stream could not be read on, in one line."""
    return f"cannot be read as {compression(path) or 'a file'} ({first_line(error)})"


def bad_json(error: Exception) -> str:
    """Why a text is no JSON, in plain words where the library has none."""
    if isinstance(error, RecursionError):
        return "bad JSON (nested too deep)"
    if not isinstance(error, json.JSONDecodeError):  # of the conversion of a number
        return "bad JSON (a number of thousands of digits, which is not read)"
    return f"bad JSON ({error})"


def first_line(error: Exception) -> str:
    """What an error of another library says, in one line."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def refuse_special(path: Path) -> None:
    """Refuse a named pipe, socket or device, which may never end or never begin.

    Raises:
        UserError: it is one.
        OSError: it is not there.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise UserError(f"{path}: is a named pipe, a socket or a device; a file is needed")


def _plain(path: Path) -> BinaryIO:
    if not path.parent.is_dir():
        raise UserError(f"{path.parent}: no such folder")
    try:
        refuse_special(path)
        return path.open("rb")
    except OSError as error:
        raise UserError(f"{path}: cannot be opened ({error.strerror})") from error
