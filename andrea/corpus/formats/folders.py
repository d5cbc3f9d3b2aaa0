"""Plain text and Markdown: a file, or a folder of files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from andrea.corpus.formats import plain
from andrea.corpus.formats.format import Format

MARKDOWN = (".md", ".markdown")
ENDINGS = (".txt", *MARKDOWN, ".rst")

HEADING = re.compile(r"\n(?=#{1,6} )")

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:.*\n){0,100}?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")


def documents(path: Path) -> Iterator[str]:
    """Yield each text file as a document, the longer ones cut to documents of 8000 characters.

    Markdown stays as it is, but for the front matter at its head, which is cut off, and is cut at
    headings where it can be; everything else is cut at paragraphs.

    Args:
        path: a file of any name, or a folder, searched for files that end in one of `ENDINGS`.

    Raises:
        UserError: a file cannot be read or is not UTF-8, or a folder holds no text file.
    """
    for file in plain.files(path, ENDINGS):
        if plain.name(file).endswith(MARKDOWN):
            yield from markdown(plain.utf8(file))
        else:
            yield from plain.pieces(plain.utf8(file))


def markdown(text: Iterator[str]) -> Iterator[str]:
    """Yield the documents of a Markdown text that comes in blocks, without its front matter."""
    head = next(text, "")
    front = _FRONT_MATTER.match(head)
    body = head[front.end() :] if front else head
    return plain.pieces(chain([body], text), (HEADING, *plain.BORDERS))


def looks_like(path: Path) -> bool:
    """Whether the file's name, or one in the folder, ends as that of a text file."""
    file = plain.first(path, ENDINGS)
    return file is not None and plain.name(file).endswith(ENDINGS)


FORMAT = Format(documents, ENDINGS, looks_like)
