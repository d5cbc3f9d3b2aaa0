"""The geometry of a run, or of two side by side, as one page that needs nothing but itself.

No script, no font and no picture comes from elsewhere; colours follow the reader's light or dark,
print is light. Equal geometries give equal bytes. What stands where is in `page.html.jinja`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from andrea.geometry.heads import words as heads
from andrea.geometry.measure.result import Facts, Geometry
from andrea.geometry.page import evaluation, style
from andrea.geometry.page.section import Chapter, Picture, Section, Table
from andrea.geometry.terrain import words as terrain
from andrea.geometry.vectors import words as vectors
from andrea.geometry.walk import words as walk

SMALLEST = 0.68  # of a picture's size, at which it is still read; a narrower screen scrolls it
LARGEST = 1.25  # of it, where there is room


class Drawn(NamedTuple):
    """A picture as SVG, its width in pixels, and whether it may grow beside others."""

    svg: Markup
    width: int
    grow: int


def html(geometry: Geometry) -> str:
    """The page of one run: four chapters, each picture explained with the run's own numbers."""
    facts = geometry.facts
    with style.look():
        chapters = _chapters(geometry)
        return _render(
            title=f"The geometry of a run ({facts.scale}, seed {facts.seed})",
            names=None,
            facts=_facts({"this run": facts}),
            contents=chapters,
            chapters=chapters,
        )


def compare_html(
    one: Geometry,
    other: Geometry,
    names: tuple[str, str],
    evaluations: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {}),
) -> str:
    """Two runs side by side: pictures on the same scales, and what differs in numbers.

    Args:
        evaluations: metrics of each last checkpoint on held-out text; empty where there are none.
    """
    with style.look():
        pairs = list(zip(_chapters(one), _chapters(other), strict=True))
        if any(evaluations):
            first, second = map(evaluation.chapter, evaluations)
            pairs.insert(0, (first, second))
        return _render(
            title=f"{names[0]} and {names[1]}: two geometries",
            names=names,
            facts=_facts(dict(zip(names, (one.facts, other.facts), strict=True))),
            contents=[left for left, _ in pairs],
            chapters=[
                {
                    "name": left.name,
                    "title": left.title,
                    "sections": _matched(left.sections, right.sections),
                }
                for left, right in pairs
            ],
        )


def _chapters(geometry: Geometry) -> list[Chapter]:
    return [part.chapter(geometry) for part in (vectors, heads, terrain, walk)]


def _render(**values: Any) -> str:
    environment = Environment(
        loader=PackageLoader("andrea.geometry.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.globals |= {
        "draw": _draw,
        "pictures_of_both": _pictures_of_both,
        "difference_of": _difference,
        "style_sheet": Markup(style.STYLE_SHEET.strip()),
    }
    return environment.get_template("page.html.jinja").render(**values).lstrip()


def _facts(runs: Mapping[str, Facts]) -> Table:
    several = list(runs.values())
    rows = [
        ("scale, seed", *(f"{facts.scale}, {facts.seed}" for facts in several)),
        ("weights", *(f"{facts.parameters:,}" for facts in several)),
        (
            "shape",
            *(
                f"{facts.layers} layers, {facts.heads} heads, width {facts.width}, context"
                f" {facts.context}, {facts.vocabulary:,} tokens"
                for facts in several
            ),
        ),
        ("initial weights", *(facts.beginning for facts in several)),
        ("checkpoints", *map(_checkpoints, several)),
    ]
    return Table("", ("", *runs), rows)


def _checkpoints(facts: Facts) -> str:
    return "; ".join(
        f"{name} at step {step:,}" + (f" (sha256 {digest[:8]})" if digest else "")
        for name, step, digest in zip(facts.checkpoints, facts.end_steps, facts.sha256, strict=True)
    )


def _draw(picture: Picture, name: str) -> Drawn:
    width = picture.figure.get_size_inches()[0] / style.PIXEL
    size = f"min-width:{SMALLEST * width:.0f}px;width:min(100%,{LARGEST * width:.0f}px)"
    svg = style.svg(picture.figure, name, picture.alternative)
    drawn = Markup(svg.replace("<svg ", f'<svg style="{size}" ', 1))  # made here, of our figures
    return Drawn(drawn, round(width), int(width >= style.WIDE))


def _matched(
    left: Sequence[Section], right: Sequence[Section]
) -> list[tuple[Section | None, Section | None]]:
    """Sections of both in the order of the left, then those that only the right has."""
    others = {section.name: section for section in right}
    pairs: list[tuple[Section | None, Section | None]] = [
        (section, others.pop(section.name, None)) for section in left
    ]
    return pairs + [(None, section) for section in others.values()]


def _pictures_of_both(
    left: Section | None, right: Section | None
) -> list[tuple[Picture | None, Picture | None]]:
    """Pictures of both sections beside each other, on the same scales where that has a meaning."""
    pairs: list[tuple[Picture | None, Picture | None]] = list(
        zip_longest(left.pictures if left else (), right.pictures if right else ())
    )
    for pair in pairs:
        figures = [picture.figure for picture in pair if picture and picture.comparable]
        if len(figures) == 2 and len(figures[0].axes) == len(figures[1].axes):
            style.same_scales(figures)
    return pairs


def _difference(left: Section, right: Section, names: tuple[str, str]) -> Table:
    rows = [
        (name, f"{one:.4g}", f"{right.metrics[name]:.4g}", f"{right.metrics[name] - one:+.4g}")
        for name, one in left.metrics.items()
        if name in right.metrics
    ]
    return Table("In numbers", ("", *names, "difference"), rows)
