"""Which files a source is read from, and which lie beside them and are passed over."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from andrea.corpus.formats import dictionary, folders, gutenberg, irc, opened, plain, records

ENDINGS: Mapping[str, tuple[str, ...]] = {
    **records.ENDINGS,
    "chat": tuple(ending for endings in records.ENDINGS.values() for ending in endings),
    "text": folders.ENDINGS,
    "gutenberg": gutenberg.ENDINGS,
    "irc": irc.ENDINGS,
    "dictionary": dictionary.ENDINGS,
}
BESIDE = {"dictionary": (".dict", ".dict.dz")}  # read with a file that has one of the endings
NO_ENDING = "no ending"


def files(path: Path, kind: str) -> tuple[int, dict[str, int]]:
    """Count the files that are read, and those passed over by ending.

    A single file is one, and so is a git repository, of which no file is looked at. Hidden files
    and links are neither read nor counted.

    Args:
        path: a file or folder.
        kind: its format.
    """
    if not path.is_dir() or kind not in ENDINGS:
        return 1, {}
    read = 0
    over: Counter[str] = Counter()
    for folder, inside, names in os.walk(path):
        inside[:] = [name for name in inside if not name.startswith(".")]
        for file in (Path(folder) / name for name in names if not name.startswith(".")):
            if (file.is_symlink() and not plain.is_cached(file)) or not file.is_file():
                continue
            name = plain.name(file)
            if name.endswith(ENDINGS[kind]):
                read += 1
            elif not name.endswith(BESIDE.get(kind, ())):
                over[_ending(file)] += 1
    return read, dict(sorted(over.items()))


def _ending(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    packed = suffixes[-1:] and suffixes[-1] in opened.SUFFIXES
    return "".join(suffixes[-2:] if packed else suffixes[-1:]) or NO_ENDING
