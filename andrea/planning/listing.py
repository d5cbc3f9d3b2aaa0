"""Which files a source is read from, and which lie beside them and are passed over."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from andrea.corpus.formats import opened, plain
from andrea.corpus.formats.plain import Format
from andrea.corpus.formats.registry import FORMATS

NO_ENDING = "no ending"


def files(path: Path, kind: str) -> tuple[int, dict[str, int]]:
    """Count the files that are read, and those passed over by ending.

    A single file is one, and so is a git repository, of which no file is looked at. Hidden files
    and links are neither read nor counted.
    """
    form = FORMATS[kind]
    if not path.is_dir() or not form.endings:
        return 1, {}
    beside = form.beside if isinstance(form, Format) else ()
    read = 0
    over: Counter[str] = Counter()
    for folder, inside, names in os.walk(path):
        inside[:] = [name for name in inside if not name.startswith(".")]
        for file in (Path(folder) / name for name in names if not name.startswith(".")):
            if (file.is_symlink() and not plain.is_cached(file)) or not file.is_file():
                continue
            name = plain.name(file)
            if name.endswith(form.endings):
                read += 1
            elif not name.endswith(beside):
                over[_ending(file)] += 1
    return read, dict(sorted(over.items()))


def _ending(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    packed = suffixes[-1:] and suffixes[-1] in opened.SUFFIXES
    return "".join(suffixes[-2:] if packed else suffixes[-1:]) or NO_ENDING
