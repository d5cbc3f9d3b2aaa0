"""Plain text and Markdown: a file, or a folder of files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from andrea.corpus.formats import plain

MARKDOWN = (".md", ".markdown")
ENDINGS = (".txt", *MARKDOWN, ".rst")

HEADING = re.compile(r"\n(?=#{1,6} )")

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:.*\n){0,100}?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")


def documents(path: Path) -> Iterator[str]:
    """The text of a file as a document, or cut to documents of 8000 characters.

    Markdown stays as it is, but for the front matter at its head, which is cut off, and is cut at
    headings where it can be; everything else is cut at paragraphs.
    """
    cut = markdown if plain.name(path).endswith(MARKDOWN) else plain.pieces
    return cut(plain.utf8(path))


def markdown(text: Iterator[str]) -> Iterator[str]:
    """Yield the documents of a Markdown text that comes in blocks, without its front matter."""
    head = next(text, "")
    front = _FRONT_MATTER.match(head)
    body = head[front.end() :] if front else head
    return plain.pieces(chain([body], text), (HEADING, *plain.BORDERS))


FORMAT = plain.Format(documents, ENDINGS, lambda path: plain.name(path).endswith(ENDINGS))
