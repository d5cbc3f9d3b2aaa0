"""What a page is made of, before it is HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure with its words.

    Attributes:
        figure: made inside of `style.look`.
        alternative: what it shows, for those who cannot see it.
        caption: under it; empty for none.
        comparable: two runs are drawn on the same scales.
    """

    figure: Figure
    alternative: str
    caption: str = ""
    comparable: bool = True


@dataclass(frozen=True)
class Table:
    """Cells as text; the first column names the rows."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class Section:
    """One thing to look at.

    Attributes:
        name: short, unique on the page.
        title: heading.
        meaning: what it is, in two sentences.
        look: what to look for.
        numbers: what came out in this run, in sentences.
        pictures: of it.
        tables: of it.
        caveats: what it does not say.
        metrics: by name, by which two runs are compared.
    """

    name: str
    title: str
    meaning: str
    look: str
    numbers: str
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    caveats: Sequence[str] = ()
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
