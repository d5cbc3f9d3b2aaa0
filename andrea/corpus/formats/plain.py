"""What the formats of plain text share: finding files, decoding them, cutting them to documents."""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from andrea.common.errors import UserError
from andrea.corpus.formats import opened

LONGEST = 8000
BLOCK_BYTES = 1 << 16
LINE_BYTES = 1 << 20

PARAGRAPH = re.compile(r"\n[ \t]*\n")
LINE = re.compile(r"\n")
SENTENCE = re.compile(r"(?<=[.!?]) ")
SPACE = re.compile(r"\s")
BORDERS = (PARAGRAPH, LINE, SENTENCE, SPACE)

_CACHED = re.compile(r"/files/md5/[0-9a-f]{2}/[0-9a-f]{30}\Z")
_MARK = re.compile(r"^(?=[<>] )", re.MULTILINE)


@dataclass(frozen=True)
class Format:
    """How files of one format are known and read.

    Attributes:
        documents: of a file, whatever its name.
        endings: of the files in a folder that are read; none where a folder is read as a whole.
        is_like: whether a file is of it; None where only its name in the parameters can say so.
        beside: endings of files that are read along with those.
    """

    documents: Callable[[Path], Iterator[str]]
    endings: tuple[str, ...] = ()
    is_like: Callable[[Path], bool] | None = None
    beside: tuple[str, ...] = ()

    def read(self, path: Path, field: str = "") -> Iterator[str]:
        """Yield the documents of a file or folder; only records have a field.

        Raises:
            UserError: a file cannot be read or is not of the format, or a folder holds none.
        """
        for file in files(path, self.endings) if self.endings else (path,):
            yield from self.documents(file)

    def looks_like(self, path: Path) -> bool:
        """Whether the file, or the first of the folder, is of it."""
        file = first(path, self.endings) if self.is_like else None
        return file is not None and self.is_like is not None and self.is_like(file)


def name(path: Path) -> str:
    """A file's name in lower case, without the ending of a packed file."""
    lower = path.name.lower()
    return next((lower.removesuffix(end) for end in opened.SUFFIXES if lower.endswith(end)), lower)


def files(path: Path, endings: Sequence[str]) -> Iterator[Path]:
    """Yield the file itself, or the files of a folder with one of the endings, as `inside`.

    Args:
        endings: in lower case, with the dot; a packed file may have `.gz` or `.zst` after it.

    Raises:
        UserError: there is no such path, a folder cannot be read, or it holds no such file.
    """
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        if path.exists():
            opened.refuse_special(path)
        raise UserError(f"{path}: no such file or folder")
    is_any = False
    for file in inside(path):
        if name(file).endswith(tuple(endings)):
            is_any = True
            yield file
    if not is_any:
        raise UserError(
            f"{path}: holds no file that ends in {', '.join(endings)} (packed or not; hidden files"
            " and links are passed over)"
        )


def inside(path: Path) -> Iterator[Path]:
    """Yield the files of a folder, sorted, before those of its folders.

    Hidden files and folders are passed over, and so are links, which may lead out of the folder,
    but for those into DVC's cache.

    Raises:
        UserError: a folder cannot be read.
    """
    for folder, folders, names in os.walk(path, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for file in (Path(folder) / name for name in sorted(names) if not name.startswith(".")):
            if (not file.is_symlink() or is_cached(file)) and file.is_file():
                yield file


def is_cached(path: Path) -> bool:
    """Whether a path leads into a cache of DVC, which may put links for files."""
    return bool(_CACHED.search(path.resolve().as_posix()))


def first(path: Path, endings: Sequence[str]) -> Path | None:
    """The first of `files`, or None where there is none or the path cannot be read."""
    try:
        return next(files(path, endings))
    except UserError:
        return None


def head(path: Path) -> bytes:
    """The first 64 KiB of a file, unpacked; nothing where it cannot be read."""
    try:
        return opened.start(path, BLOCK_BYTES)
    except UserError:
        return b""


def lines(path: Path) -> Iterator[bytes]:
    """Yield a file's lines with their ends, unpacked; a longer line than 1 MiB comes in parts."""
    return _parts(path, lambda stream: stream.readline(LINE_BYTES))


def blocks(path: Path) -> Iterator[bytes]:
    """Yield a file's bytes, unpacked, in blocks."""
    return _parts(path, lambda stream: stream.read(BLOCK_BYTES))


def utf8(path: Path) -> Iterator[str]:
    r"""Yield a file's text in blocks: UTF-8, a byte order mark cut off, every line end `\n`.

    Raises:
        UserError: the file cannot be read, or is not UTF-8; file and byte are named.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    read = 0
    for block in chain(blocks(path), [b""]):
        start = read - len(decoder.getstate()[0])
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise UserError(
                f"{path}, byte {start + error.start}: 0x{error.object[error.start]:02x} is not"
                " UTF-8; save the file as UTF-8"
            ) from error
        text = newlines.decode(text, final=not block)
        yield text.removeprefix("\ufeff") if read == 0 else text
        read += len(block)


def utf8_lines(path: Path) -> Iterator[str]:
    r"""Yield the lines of `utf8`, each but the last with its `\n`.

    Raises:
        UserError: as for `utf8`, or a line is longer than a million characters.
    """
    left, number = "", 1
    for block in utf8(path):
        *whole, left = (left + block).split("\n")
        for line in whole:
            yield line + "\n"
        number += len(whole)
        if len(left) > LINE_BYTES:
            reason = f"more than {LINE_BYTES:,} characters in one line"
            raise UserError(f"{path}, line {number}: {reason}")
    if left:
        yield left


def mixed(line: bytes, encoding: str = "cp1252") -> str:
    """Text of a line that is UTF-8, or else in an older encoding, whose holes are left out.

    Text in another encoding than UTF-8 is hardly ever valid UTF-8 by chance.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode(encoding, errors="ignore")


def pieces(text: Iterable[str], borders: Sequence[re.Pattern[str]] = BORDERS) -> Iterator[str]:
    """Cut text that comes in blocks to documents of at most 8000 characters.

    Each is cut at the last border of the first kind, the best, that occurs in its second half.
    """
    left = ""
    for block in text:
        left += block
        while len(left) > LONGEST:
            end = _border(left, borders)
            yield from document(left[:end])
            left = left[end:]
    yield from document(left)


def document(text: str) -> Iterator[str]:
    """Yield the text as a document, or nothing where there is only white space.

    Empty lines around it are cut off. A line that begins with `> ` or `< `, the marks of a turn,
    gets one space before it, so that the marks are unambiguous. A lone surrogate, which an odd
    encoding may leave, becomes `?`.
    """
    if text.strip():
        text = text.encode("utf-8", errors="replace").decode("utf-8")
        yield _MARK.sub(" ", re.sub(r"\A(?:[ \t]*\n)+", "", text).rstrip())


def _border(text: str, borders: Sequence[re.Pattern[str]]) -> int:
    for border in borders:
        ends = [match.end() for match in border.finditer(text, LONGEST // 2, LONGEST)]
        if ends:
            return ends[-1]
    return LONGEST


def _parts(path: Path, read: Callable[[BinaryIO], bytes]) -> Iterator[bytes]:
    with opened.stream(path) as stream:
        try:
            while part := read(stream):
                yield part
        except opened.FAULTS as error:
            raise UserError(f"{path}: {opened.unreadable(path, error)}") from error


def _refuse(error: OSError) -> None:
    raise UserError(f"{error.filename}: cannot be read ({error.strerror})") from error
