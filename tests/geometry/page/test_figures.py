from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from andrea.geometry.heads import figures as heads
from andrea.geometry.page import style
from andrea.geometry.terrain import figures as terrain
from andrea.geometry.vectors import figures as vectors
from andrea.geometry.vectors.measure.embeddings import Map
from andrea.geometry.walk import figures as walk
from tests.geometry.geometries import SOURCES, example

GEOMETRY = example()
SVG = "{http://www.w3.org/2000/svg}"


def drawn() -> dict[str, Figure]:
    """Every picture once; made inside of the look."""
    table, seen, ground, path = GEOMETRY.vectors, GEOMETRY.heads, GEOMETRY.terrain, GEOMETRY.walk
    names, prompt = GEOMETRY.facts.checkpoints, seen.prompts[0]
    labels, close = table.bins.labels, table.related[1].found
    assert close is not None and ground.plane is not None
    common = [basin for basin in ground.basins if basin.batch == "all"]
    fair = {j.batch: j.rows for j in ground.judgements if j.against == "control"}
    return {
        "word_map": vectors.word_map(table.words.words, table.words.map),
        "spectrum": vectors.spectrum(list(zip(names, table.spectra, strict=True))),
        "components": vectors.components(table.components[-1]),
        "cosines": vectors.cosines(labels, table.cosines[-1]),
        "movement": vectors.movement(names[1:], labels, table.movement),
        "similarity": vectors.similarity(names, table.similarity),
        "closeness": vectors.closeness(close),
        "attention": heads.attention(prompt.pieces, prompt.weights[0, 0], "head 1.1"),
        "montage": heads.montage(prompt.weights),
        "position": heads.position(prompt.pieces, prompt.position),
        "statistics": heads.statistics(seen.text),
        "scaling": heads.scaling(seen.text),
        "subspaces": heads.subspaces(2, seen.subspaces),
        "angles": heads.angles(seen.subspaces),
        "slices": terrain.slices([(b.checkpoint, b.slices) for b in common if b.slices]),
        "plane": terrain.plane(ground.plane, ground.plane_names),
        "basins": terrain.basins([(b.checkpoint, b.radii) for b in common]),
        "comparison": terrain.comparison(fair),
        "critical": terrain.critical(SOURCES, np.array([0, 1e-4, 1e-3, 1e-2]), 1e-3, "an update"),
        "loss_curve": terrain.loss_curve(
            [("warmup", np.arange(1.0, 4), np.array([3.0, 2, 1]))], [(2, 2.0)]
        ),
        "stacked": walk.stacked(path, SOURCES),
        "walk_plane": walk.plane(path, SOURCES),
        "stands": walk.stands(path),
        "payoffs": walk.payoffs(path, SOURCES),
        "shares": walk.shares(path, SOURCES),
        "triangle": walk.triangle(path, path.triangles[0]),
    }


@pytest.fixture(scope="module")
def pictures() -> dict[str, str]:
    with style.look():
        return {name: style.svg(one, name, f"about {name}") for name, one in drawn().items()}


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_equal_figures_give_equal_bytes(pictures: dict[str, str]) -> None:
    table, ground = GEOMETRY.vectors, GEOMETRY.terrain
    assert ground.plane is not None
    with style.look():
        again = {
            "word_map": vectors.word_map(table.words.words, table.words.map),
            "plane": terrain.plane(ground.plane, ground.plane_names),
            "payoffs": walk.payoffs(GEOMETRY.walk, SOURCES),
        }
        for name, figure in again.items():
            assert style.svg(figure, name, f"about {name}") == pictures[name]


def test_pictures_are_well_formed_and_tell_what_they_show(pictures: dict[str, str]) -> None:
    for name, svg in pictures.items():
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img"
        assert root.get("aria-label") == f"about {name}"


def test_pictures_ask_for_nothing(pictures: dict[str, str]) -> None:
    """Links lead into the picture itself or hold their data; no script, no style for the page."""
    for svg in pictures.values():
        for link in re.findall(r'href="([^"]*)"|url\(([^)]*)\)', svg):
            assert "".join(link).startswith(("#", "data:image/png;base64,"))
        assert not re.search(r"<(script|style|metadata|foreignObject)", svg)


def test_ids_of_two_pictures_never_meet(pictures: dict[str, str]) -> None:
    for name, svg in pictures.items():
        ids = re.findall(r' id="([^"]*)"', svg)
        assert len(set(ids)) == len(ids)
        assert all(one.startswith(f"{name}-") for one in ids)
        links = re.findall(r'(?:href="|url\()#([^")]*)', svg)
        assert set(links) <= set(ids)


def test_text_is_text_and_formulas_stay_what_they_are(pictures: dict[str, str]) -> None:
    for svg in pictures.values():
        assert texts(svg)
        assert "mathdefault" not in svg
    assert "$x^2$" in texts(pictures["word_map"])
    assert "&amp;" in texts(pictures["attention"])


def test_colours_of_the_page_decide(pictures: dict[str, str]) -> None:
    """No text or line keeps a colour that would vanish on a dark page."""
    for name, svg in pictures.items():
        found = set(re.findall(r"(?:fill|stroke): (#000000|#ffffff|black|white)", svg))
        assert not found, name
        assert "var(--ink,#1c2128)" in svg


def test_roles_have_colours_of_their_own() -> None:
    light, dark = style.STYLE_SHEET.split("prefers-color-scheme", 1)
    for block in (light, dark.split("}", 1)[0]):
        shades = re.findall(r"--\w+: (#[0-9a-f]{6});", block)
        assert len(set(shades)) == len(shades) == len(style.ROLES) >= 8
        assert not set(shades) & set(style.SOURCES)


def boxes(figure: Figure) -> list[tuple[float, float, float, float]]:
    figure.draw_without_rendering()
    return [text.get_window_extent().extents for text in figure.axes[0].texts]


def test_labels_on_the_map_never_overlap_and_the_most_frequent_word_stays() -> None:
    rng = np.random.default_rng(5)
    words = [f"word{n}" for n in range(300)]
    with style.look():
        figure = vectors.word_map(words, Map("pca", rng.normal(size=(300, 2)), (0.5, 0.2)))
        found = boxes(figure)
    shown = [text.get_text() for text in figure.axes[0].texts]
    assert shown[0] == "word0"
    assert 50 < len(shown) < 300
    for n, (left, low, right, high) in enumerate(found):
        for other in found[:n]:
            apart = left >= other[2] or right <= other[0] or low >= other[3] or high <= other[1]
            assert apart


def test_same_scales() -> None:
    with style.look():
        pair = [
            terrain.loss_curve([("warmup", np.array([0.0, end]), np.array([top, 1]))], [])
            for end, top in ((10, 3), (20, 2))
        ]
        style.same_scales(pair)
        one, other = (figure.axes[0] for figure in pair)
    assert one.get_xlim() == other.get_xlim()
    assert one.get_ylim() == other.get_ylim()
    assert one.get_xlim()[1] >= 20
    assert one.get_ylim()[1] >= 3


def test_same_scales_keep_rows_from_top_to_bottom_and_join_colours() -> None:
    with style.look():
        pair = [heads.statistics(example(seed).heads.text) for seed in (7, 8)]
        style.same_scales(pair)
    for one, other in zip(*(figure.axes for figure in pair), strict=True):
        assert one.get_ylim() == other.get_ylim()
        for left, right in zip(one.images, other.images, strict=True):
            assert one.get_ylim()[0] > one.get_ylim()[1]
            assert left.get_clim() == right.get_clim()


def test_a_plane_with_a_hole_and_equal_places() -> None:
    """A loss that is not finite leaves a hole; names of equal places stand one below the other."""
    found = GEOMETRY.terrain.plane
    assert found is not None
    nats = found.nats.copy()
    nats[0, 0], nats[3, 3] = np.inf, np.nan
    path = np.zeros((3, 2))
    values = {name: getattr(found, name) for name in found.__dataclass_fields__}
    with style.look():
        figure = terrain.plane(
            type(found)(**{**values, "nats": nats, "path": path}), ("initial", "warmup", "polish")
        )
        figure.draw_without_rendering()
        names = {
            text.get_text(): text.get_window_extent()
            for text in figure.axes[0].texts
            if text.get_text().isalpha()
        }
    assert set(names) == {"initial", "warmup", "polish"}
    heights = [names[name].y0 for name in ("initial", "warmup", "polish")]
    assert heights == sorted(heights, reverse=True)
    assert not names["initial"].overlaps(names["polish"])


def test_a_number_that_rounds_to_nothing_has_no_sign() -> None:
    assert style.number(-0.001) == "0.00"
    assert style.number(-0.4, 0) == "0"
    assert style.number(-1.234, 1) == "-1.2"
