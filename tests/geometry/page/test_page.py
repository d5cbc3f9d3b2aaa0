from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from andrea.geometry.page import page
from tests.geometry.geometries import WORDS, example, without_extras

ROOT = Path(__file__).parents[3]
MOST_BYTES = 3_000_000
VOID = {"meta", "link", "br", "img"}
SECTIONS = (
    "word-map", "neighbours", "spectrum", "frequency", "movement", "similarity", "related",
    "prompt-1", "position-1", "heads-text", "heads-repeated", "scaling", "subspaces",
    "loss", "plane", "slices", "basins", "wider", "critical",
    "bands", "walk-plane", "stands", "payoffs", "shares", "triangle-1",
)  # fmt: skip
EXTRAS = {"related", "plane", "triangle-1"}
CHAPTERS = ("vectors", "heads", "terrain", "walk")
PHONE = 390  # pixels


class Reader(HTMLParser):
    """Collects what the page is made of; fails where tags do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)

    def ids(self) -> list[str]:
        return [str(attrs["id"]) for _, attrs in self.tags if "id" in attrs]


@pytest.fixture(scope="module")
def whole() -> str:
    return page.html(example())


@pytest.fixture(scope="module")
def pair() -> str:
    evaluations = (
        {"macro_mean": 2.0, "bits_per_byte": {"chat": 1.5}, "worst_source": "chat"},
        {"macro_mean": 1.75, "bits_per_byte": {"chat": 1.5}},
    )
    names = ("first", "<second>")
    return page.compare_html(without_extras(example()), example(8), names, evaluations)


def check(text: str) -> Reader:
    """Tags close, ids are unique, links lead to a part of the page; nothing comes from outside."""
    reader = Reader(text)
    ids = reader.ids()
    assert [one for one, count in Counter(ids).items() if count > 1] == []
    for tag, attrs in reader.tags:
        assert tag not in ("script", "iframe", "img", "object", "base")
        for name in ("href", "xlink:href", "src"):
            value = attrs.get(name)
            if value is not None:
                assert value.startswith("data:") or value[1:] in ids, value
        if tag == "svg":
            assert attrs["role"] == "img"
            assert attrs["aria-label"]
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    return reader


def test_every_section_is_there_with_its_words_and_pictures(whole: str) -> None:
    reader = check(whole)
    for name in (*SECTIONS, *CHAPTERS):
        assert name in reader.ids()
        assert f'href="#{name}"' in whole
    parts = re.split(r"(?=<h3 )", whole)[1:]
    assert len(parts) == len(SECTIONS)
    for part in parts:
        name = re.match(r'<h3 id="([^"]*)"', part)
        assert name
        assert 'class="look"' in part
        assert "In this run." in part
        assert "<svg" in part or name[1] == "neighbours"
    for claim in ("Read with care.", "Dinh et al. 2017", "weakly correlated"):
        assert claim in whole


def test_numbers_of_the_run_stand_in_the_text(whole: str) -> None:
    geometry = example()
    rank = geometry.vectors.spectra[-1].effective_rank
    assert f"to {rank:.1f} of 16" in whole
    plane = geometry.terrain.plane
    assert plane is not None
    assert all(f"<td>{off:.2f}</td>" in whole for off in plane.off_plane)
    middle = float(np.median(plane.off_plane[[1, 3, 4]]))
    assert f"beside the plane, {middle:.2f} at the median" in whole
    row = next(j for j in geometry.terrain.judgements if j.against == "control").rows[0]
    assert f"interval {row.low:+.3f} to {row.high:+.3f}" in whole
    shares = geometry.walk.shares
    assert all(f"<td>{share:.3f}</td>" in whole for share in shares.realised[-1])


def test_nothing_that_a_run_holds_becomes_markup(whole: str) -> None:
    reader = Reader(whole)
    text = "".join(reader.text)
    assert "<script>alert(1)</script>" in text
    assert "a <i>prompt</i> & more" in text
    for word in WORDS:
        assert word in text


def test_the_page_is_small(whole: str) -> None:
    assert len(whole.encode()) < MOST_BYTES


@pytest.mark.slow
def test_without_control_nothing_is_concluded_and_missing_parts_are_left_out(whole: str) -> None:
    poorer = page.html(without_extras(example()))
    reader = check(poorer)
    assert not EXTRAS & set(reader.ids())
    assert set(SECTIONS) - EXTRAS <= set(reader.ids())
    assert "nothing can be concluded" in poorer
    assert "nothing can be concluded" not in whole
    assert "There is no dictionary." in poorer
    assert "The watch saw no cliff" in poorer


def test_two_runs_side_by_side_also_with_parts_that_one_lacks(pair: str) -> None:
    reader = check(pair)
    assert set(SECTIONS) <= set(reader.ids())
    text = "".join(reader.text)
    assert "<second>" in text
    assert text.count("first has no such part.") == len(EXTRAS)
    assert text.count("nothing can be concluded") == 1
    one, other = (example(seed).vectors.spectra[-1].effective_rank for seed in (7, 8))
    row = f"<td>{one:.4g}</td><td>{other:.4g}</td><td>{other - one:+.4g}</td>"
    assert row in pair
    assert "<td>2</td><td>1.75</td><td>-0.25</td>" in pair
    assert "In bits per byte: mean over the sources 1.750." in text
    limits = [
        re.findall(r">([^<]*)</text>", svg.replace("cliff", ""))
        for svg in re.findall(r"<svg[^>]*Training loss over.*?</svg>", pair, re.DOTALL)
    ]
    assert len(limits) == 2
    ticks = [[text for text in texts if text] for texts in limits]
    assert ticks[0] == ticks[1]  # and names: the same scales


@pytest.mark.slow
def test_another_process_writes_the_same_bytes(whole: str, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from andrea.geometry.page import page;"
        " from tests.geometry.geometries import example;"
        " Path(sys.argv[1]).write_text(page.html(example()), encoding='utf-8')"
    )
    file = tmp_path / "again.html"
    environment = os.environ | {"PYTHONHASHSEED": "12345"}
    subprocess.run([sys.executable, "-c", code, file], check=True, cwd=ROOT, env=environment)
    assert file.read_text(encoding="utf-8") == whole
