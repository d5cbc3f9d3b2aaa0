"""What the registry knows of a format of plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Format:
    """How files of one format are known and read.

    Attributes:
        documents: of a file or folder.
        endings: of the files in a folder that are read; none where a folder is read as a whole.
        looks_like: whether a file or folder is of it; None where only its name can say so.
        beside: endings of files that are read along with those.
    """

    documents: Callable[[Path], Iterator[str]]
    endings: tuple[str, ...] = ()
    looks_like: Callable[[Path], bool] | None = None
    beside: tuple[str, ...] = ()

    def read(self, path: Path, field: str) -> Iterator[str]:
        """Yield the documents of a file or folder; only records have a field."""
        return self.documents(path)
