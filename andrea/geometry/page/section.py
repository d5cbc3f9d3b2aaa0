"""What a page is made of, before it is HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure with its words."""

    figure: Figure  # made inside of `style.look`
    alternative: str  # what it shows, for those who cannot see it
    caption: str = ""  # under it; empty for none
    comparable: bool = True  # two runs are drawn on the same scales


@dataclass(frozen=True)
class Table:
    """Cells as text; the first column names the rows."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    @classmethod
    def of(cls, caption: str, *columns: tuple[str, Iterable[Any], str]) -> Table:
        """A table by columns: the head of each, its values, and how they are formatted."""
        cells = [[format(value, shown) for value in values] for _, values, shown in columns]
        return cls(caption, [head for head, _, _ in columns], list(zip(*cells, strict=True)))


@dataclass(frozen=True, eq=False)
class Section:
    """One thing to look at."""

    name: str  # short, unique on the page
    title: str  # heading
    meaning: str  # what it is, in two sentences
    look: str  # what to look for
    numbers: str  # what came out in this run, in sentences
    pictures: Sequence[Picture] = ()  # of it
    tables: Sequence[Table] = ()  # of it
    caveats: Sequence[str] = ()  # what it does not say
    # By name, by which two runs are compared.
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Chapter:
    """Sections about one of the four spaces."""

    name: str
    title: str
    opening: str
    sections: Sequence[Section]


def listed(names: Sequence[str]) -> str:
    """Names as in a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
