"""The geometry of a run, or of two side by side, as one page that needs nothing but itself.

No script, no font and no picture comes from elsewhere; colours follow the reader's light or dark,
print is light. Equal geometries give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import zip_longest
from typing import Any

from andrea.report.chapters import evaluation, heads, terrain, vectors, walk
from andrea.report.chapters.section import Chapter, Picture, Section, Table
from andrea.report.figures import style
from andrea.report.geometry import Facts, Geometry
from andrea.report.sheet import CSS

SMALLEST = 0.68  # of a picture's size, at which it is still read; a narrower screen scrolls it
LARGEST = 1.25  # of it, where there is room


def html(geometry: Geometry) -> str:
    """The page of one run: four chapters, each picture explained with the run's own numbers."""
    with style.look():
        chapters = _chapters(geometry)
        body = [_contents(chapters)]
        for chapter in chapters:
            body.append(f'<section aria-labelledby="{chapter.name}">')
            body.append(f'<h2 id="{chapter.name}">{_text(chapter.title)}</h2>')
            body.append(f'<p class="lead">{_text(chapter.opening)}</p>')
            body += [_section(section) for section in chapter.sections]
            body.append("</section>")
    facts = geometry.facts
    title = f"The geometry of a run ({facts.scale}, seed {facts.seed})"
    opening = (
        "<p>A token is a point, a head is a projection, training is a path on a terrain, and the"
        " curriculum is a walk on a simplex. Here are all four for one run. Beside each picture"
        " stands what it is, what to look for, and what came out.</p>"
    )
    return _page(title, opening + _facts([("this run", facts)]), body, "one")


def compare_html(
    one: Geometry,
    other: Geometry,
    names: tuple[str, str],
    evaluations: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {}),
) -> str:
    """Two runs side by side: pictures on the same scales, and what differs in numbers.

    Args:
        one: the run on the left.
        other: that on the right.
        names: of both.
        evaluations: numbers of each last checkpoint on held-out text; empty where there are none.
    """
    with style.look():
        pairs = list(zip(_chapters(one), _chapters(other), strict=True))
        if any(evaluations):
            first, second = map(evaluation.chapter, evaluations)
            pairs.insert(0, (first, second))
        body = [_contents([left for left, _ in pairs])]
        for left, right in pairs:
            body.append(f'<section aria-labelledby="{left.name}">')
            body.append(f'<h2 id="{left.name}">{_text(left.title)}</h2>')
            body += [_both(a, b, names) for a, b in _matched(left.sections, right.sections)]
            body.append("</section>")
    opening = (
        f"<p>{_text(names[0])} on the left, {_text(names[1])} on the right (below each other on a"
        " narrow screen). Pictures have the same scales where they can be compared; axes that each"
        " run finds for itself (the word map, planes) are its own, and are not compared.</p>"
    )
    facts = _facts(list(zip(names, (one.facts, other.facts), strict=True)))
    return _page(f"{names[0]} and {names[1]}: two geometries", opening + facts, body, "two")


def _chapters(geometry: Geometry) -> list[Chapter]:
    return [part.chapter(geometry) for part in (vectors, heads, terrain, walk)]


def _page(title: str, opening: str, body: Iterable[str], kind: str) -> str:
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            # Otherwise browsers ask for an icon of their own accord.
            '<link rel="icon" href="data:,">',
            f"<title>{_text(title)}</title>\n<style>\n{style.css()}{CSS.strip()}\n</style>\n</head>",
            f'<body class="{kind}">\n<header>\n<h1>{_text(title)}</h1>\n{opening}',
            "</header>\n<main>",
            *body,
            "</main>\n</body>\n</html>\n",
        ]
    )


def _contents(chapters: Sequence[Chapter]) -> str:
    lists = [
        f'<ul><li><a href="#{chapter.name}">{_text(chapter.title)}</a><ul>'
        + "".join(
            f'<li><a href="#{section.name}">{_text(section.title)}</a></li>'
            for section in chapter.sections
        )
        + "</ul></li></ul>"
        for chapter in chapters
    ]
    return '<nav aria-label="Contents">\n' + "\n".join(lists) + "\n</nav>"


def _facts(runs: Sequence[tuple[str, Facts]]) -> str:
    rows = [
        ("scale, seed", *(f"{facts.scale}, {facts.seed}" for _, facts in runs)),
        ("weights", *(f"{facts.parameters:,}" for _, facts in runs)),
        (
            "shape",
            *(
                f"{facts.layers} layers, {facts.heads} heads, width {facts.width}, context"
                f" {facts.context}, {facts.vocabulary:,} tokens"
                for _, facts in runs
            ),
        ),
        ("initial weights", *(facts.beginning for _, facts in runs)),
        ("checkpoints", *(_checkpoints(facts) for _, facts in runs)),
    ]
    return _table(Table("", ("", *(name for name, _ in runs)), rows))


def _checkpoints(facts: Facts) -> str:
    return "; ".join(
        f"{name} at step {step:,}" + (f" (sha256 {digest[:8]})" if digest else "")
        for name, step, digest in zip(facts.checkpoints, facts.end_steps, facts.sha256, strict=True)
    )


def _words(section: Section, numbers: str) -> list[str]:
    return [
        f'<h3 id="{section.name}">{_text(section.title)}</h3>',
        f"<p>{_text(section.meaning)}</p>",
        f'<p class="look">{_text(section.look)}</p>',
        numbers,
    ]


def _section(section: Section) -> str:
    numbers = f'<p class="numbers"><strong>In this run.</strong> {_text(section.numbers)}</p>'
    pictures = [
        _picture(picture, f"{section.name}-{place}")
        for place, picture in enumerate(section.pictures, 1)
    ]
    parts = ['<div class="whole">', *_words(section, numbers)]
    if pictures:
        parts.append('<div class="pictures">' + "\n".join(pictures) + "</div>")
    return "\n".join([*parts, "</div>", *_rest(section)])


def _rest(section: Section) -> list[str]:
    parts = [_table(table) for table in section.tables if table.rows]
    return parts + _caveats(section)


def _caveats(section: Section) -> list[str]:
    if not section.caveats:
        return []
    items = "".join(f"<li>{_text(caveat)}</li>" for caveat in section.caveats)
    return [f'<div class="whole"><p><strong>Read with care.</strong></p><ul>{items}</ul></div>']


def _picture(picture: Picture, name: str) -> str:
    drawn = style.svg(picture.figure, name, picture.alternative)
    width = picture.figure.get_size_inches()[0] / style.PIXEL
    size = f"min-width:{SMALLEST * width:.0f}px;width:min(100%,{LARGEST * width:.0f}px)"
    drawn = drawn.replace("<svg ", f'<svg style="{size}" ', 1)
    caption = f"<figcaption>{_text(picture.caption)}</figcaption>" if picture.caption else ""
    return (
        f'<figure style="flex:{int(width >= style.WIDE)} 1 {width:.0f}px">'
        f'<div class="scroll" tabindex="0" role="region" aria-label="picture {name}">{drawn}</div>'
        f"{caption}</figure>"
    )


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in table.head)
    rows = "\n".join(
        "<tr>"
        + f'<th scope="row">{_text(row[0])}</th>'
        + "".join(f"<td>{_text(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in table.rows
    )
    caption = f"<caption>{_text(table.caption)}</caption>" if table.caption else ""
    name = _text(table.caption or "table")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table>{caption}'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>"
    )


def _matched(
    left: Sequence[Section], right: Sequence[Section]
) -> list[tuple[Section | None, Section | None]]:
    """Sections of both in the order of the left, then those that only the right has."""
    others = {section.name: section for section in right}
    pairs: list[tuple[Section | None, Section | None]] = [
        (section, others.pop(section.name, None)) for section in left
    ]
    return pairs + [(None, section) for section in others.values()]


def _both(left: Section | None, right: Section | None, names: tuple[str, str]) -> str:
    common = left or right
    assert common is not None
    columns = [
        f"<div><p><strong>{_text(name)}.</strong> {_text(section.numbers)}</p></div>"
        if section
        else f"<div><p>{_text(name)} has no such part.</p></div>"
        for name, section in zip(names, (left, right), strict=True)
    ]
    parts = ['<div class="whole">']
    parts += _words(common, f'<div class="pair">{"".join(columns)}</div>')
    for place, pictures in enumerate(
        zip_longest(left.pictures if left else (), right.pictures if right else ()), 1
    ):
        figures = [picture.figure for picture in pictures if picture and picture.comparable]
        if len(figures) == 2 and len(figures[0].axes) == len(figures[1].axes):
            style.same_scales(figures)
        cells = [
            f"<div>{_picture(picture, f'{common.name}-{place}{side}')}</div>"
            if picture
            else "<div></div>"
            for side, picture in zip("ab", pictures, strict=True)
        ]
        parts.append(f'<div class="pair">{"".join(cells)}</div>')
    parts.append("</div>")
    if left and right:
        parts.append(_difference(left, right, names))
    for name, section in zip(names, (left, right), strict=True):
        for table in section.tables if section else ():
            if table.rows:
                parts.append(
                    f"<details><summary>{_text(f'{name}: {table.caption}')}</summary>"
                    f"{_table(table)}</details>"
                )
    return "\n".join(parts + _caveats(common))


def _difference(left: Section, right: Section, names: tuple[str, str]) -> str:
    rows = [
        (name, f"{one:.4g}", f"{right.figures[name]:.4g}", f"{right.figures[name] - one:+.4g}")
        for name, one in left.figures.items()
        if name in right.figures
    ]
    if not rows:
        return ""
    return _table(Table("In numbers", ("", *names, "difference"), rows))


def _text(text: str) -> str:
    return escape(text, quote=True)
