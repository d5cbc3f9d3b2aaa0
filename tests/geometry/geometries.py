"""A made-up geometry, small and whole, for the tests of what is drawn and written of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from andrea.geometry.heads.measure import attention, heads
from andrea.geometry.heads.measure import subspaces as windows
from andrea.geometry.heads.measure.result import Heads, Prompt
from andrea.geometry.measure.result import Facts, Geometry
from andrea.geometry.terrain.measure import basin
from andrea.geometry.terrain.measure.critical import Critical
from andrea.geometry.terrain.measure.hessian import TopEigenvalue
from andrea.geometry.terrain.measure.plane import PlanePicture
from andrea.geometry.terrain.measure.result import SNAPSHOT, Basin, Judgement, Steepness, Terrain
from andrea.geometry.terrain.measure.surface import Slices
from andrea.geometry.vectors.measure import drift, embeddings, frequency, spectrum
from andrea.geometry.vectors.measure.closeness import Closeness
from andrea.geometry.vectors.measure.relations import Pair
from andrea.geometry.vectors.measure.result import Chosen, Related, Vectors, Words
from andrea.geometry.walk.measure.measure import of_phases
from andrea.geometry.walk.measure.result import Losses, Walk
from andrea.mixture.simplex import Region
from tests.geometry.walks import make_walk
from tests.networks import SCALE, network

REGIMES = ("warmup", "firehose", "polish")
SOURCES = ("source-0", "source-1", "source-2", "source-3")
REGIONS = {
    "warmup": Region(np.zeros(4), np.array([1.0, 1.0, 1.0, 0.0])),
    "firehose": Region(np.zeros(4), np.ones(4)),
    "polish": Region(np.array([0.5, 0.1, 0, 0]), np.array([1, 1, 0.2, 0])),
}
# Words and tokens that would break out of HTML and SVG, or be taken for formulas.
WORDS = ("<b>", "$x^2$", "&amp;", '"quoted"', "it's", "sea", "river", "naïve", "日本", "]]>")


def example(seed: int = 7, control: bool = True) -> Geometry:
    """One run of four sources; another seed gives another run of the same shape."""
    rng = np.random.default_rng(seed)
    facts = Facts(
        "small", seed, SOURCES, "source-0", ("initial", *REGIMES), (0, 40, 80, 120),
        ("", "a" * 64, "b" * 64, "c" * 64), "noise", 4321, 60, 16, 2, 2, 24,
    )  # fmt: skip
    return Geometry(facts, vectors(rng), seen(rng), terrain(rng, control), path(seed), losses(rng))


def vectors(rng: np.random.Generator) -> Vectors:
    """Tables that drift, and words with awkward letters."""
    tables = [rng.normal(size=(60, 16))]
    for _ in REGIMES:
        tables.append(tables[-1] + 0.3 * rng.normal(size=(60, 16)))
    counts = np.sort(rng.integers(0, 5000, 60))[::-1].astype(np.int64)
    counts[-3:] = 0
    bins = frequency.bins(counts)
    last, number = tables[-1], len(WORDS)
    near = embeddings.neighbours(last[:number], np.arange(number), 3)
    cosines = embeddings.unit(last[:4]) @ embeddings.unit(last[:4]).T
    related, strange = rng.normal(0.3, 0.2, 30), rng.normal(0.2, 0.2, 30)
    close = Closeness(
        [Pair(f"word{n}", f"kind{n % 11}", "noun", "genus") for n in range(30)],
        [f"other{n}" for n in range(30)], related, strange, np.full(30, 0.2),
        0.3, 0.2, 0.1, 0.05, 0.15, 0.7, 11,
    )  # fmt: skip
    return Vectors(
        tuple(f"t{n}" for n in range(60)),
        counts,
        bins,
        tuple(spectrum.spectrum(table) for table in tables),
        tuple(spectrum.components(table, counts, 4) for table in tables),
        tuple(spectrum.mean_cosines(table, bins) for table in tables),
        drift.movement(tables, bins),
        drift.similarity(tables),
        tuple(drift.drift(*two) for two in [*pairwise(tables), (tables[0], last)]),
        Words(
            WORDS, counts[:number], np.ones(number, dtype=np.int64),
            embeddings.draw_map(last[:number], "pca", 7), near,
        ),
        Chosen(
            WORDS[:4], (("·a", "b"),) * 4, np.sqrt(np.maximum(2 - 2 * cosines, 0)), cosines,
            tuple(WORDS[n : n + 3] for n in range(4)),
        ),
        100,
        (Related("initial", False, 2, None), Related("polish", True, 2, close)),
        "",
    )  # fmt: skip


def seen(rng: np.random.Generator) -> Heads:
    """Heads of a drawn network."""
    model = network(replace(SCALE, d_model=16, n_heads=2))
    captured = attention.capture(model, rng.integers(0, 60, 9))
    sequences = rng.integers(0, 20, (3, 20))
    text = heads.statistics(model, sequences)
    prompt = Prompt(
        "a <i>prompt</i> & more", ("(bos)", *WORDS[:8]), captured.weights.astype(np.float64), 8,
        attention.at_position(captured, 8), 1e-6,
    )  # fmt: skip
    return Heads((prompt,), text, text, windows.compare(model, (7,)))


def terrain(rng: np.random.Generator, control: bool) -> Terrain:
    """Bowls; with a control the basins can be judged."""
    names = (*REGIMES, "control") if control else REGIMES
    found = []
    for batch, some in (("all", names), ("priority", names[1:])):
        for name in some:
            radii = rng.uniform(0.1, 0.2, (8, 2)) * [1, 2]
            quartiles = np.quantile(radii, [0.25, 0.5, 0.75], axis=0)
            distances = np.linspace(-0.5, 0.5, 5)
            nats = 4 + rng.uniform(3, 5, (3, 1)) * distances**2
            found.append(
                Basin(
                    name, batch, 4.0,
                    basin.Radii(7, basin.RISES_NATS, radii, quartiles),
                    basin.Sigma(0.12, rng.uniform(0, 0.2, 4)), (0.01, 0.02), np.array([0.1, 0.3]),
                    TopEigenvalue(9.5, 0.1, -1.0, 12) if batch == "all" else None,
                    Slices(distances, nats) if batch == "all" else None,
                )
            )  # fmt: skip
    radii_of = {(one.checkpoint, one.batch): one.radii for one in found}
    judged = [
        Judgement(
            batch,
            against,
            tuple(basin.compare(radii_of["polish", batch], radii_of[against, batch], 7)),
        )
        for against in (["control"] if control else []) + ["firehose"]
        for batch in ("all", "priority")
    ]
    x, y = np.linspace(-4, 4, 7), np.linspace(-3, 3, 7)
    points = ("initial", SNAPSHOT, "warmup", SNAPSHOT, SNAPSHOT, *names[1:])
    places = rng.uniform(-2, 2, (len(points), 2))
    height = np.square(places).sum(axis=1)
    return Terrain(
        512,
        tuple(found),
        PlanePicture(
            x, y, 4 + (x**2 + y[:, None] ** 2), places, 4 + height, 4.1 + height,
            rng.uniform(0, 1, len(places)), np.array([0.7, 0.2]),
        ),
        points,
        (0, 20, 40, 50, 70, 80, *[120] * (len(points) - 6)),
        0.001,
        tuple(
            Steepness(source, Critical(rate, 7), Critical(0.004, 7))
            for source, rate in zip(SOURCES, (0.0, 0.0005, 0.002, 0.01), strict=True)
        ),
        "d" * 64 if control else "",
        tuple(judged),
        basin.CAVEATS,
    )  # fmt: skip


def path(seed: int) -> Walk:
    """A made-up walk, measured as a true one."""
    return of_phases(make_walk(REGIONS, seed), seed, bins=20, chance_points=20, vertices=50)


def losses(rng: np.random.Generator) -> Losses:
    """A falling curve, and one cliff of text that would like to be a script."""
    steps = np.arange(10, 130, 10, dtype=np.int64)
    cliff = {
        "kind": "cliff", "step": "60", "source": "source-1", "nats": "0.5", "median": "2.25",
        "text": "<script>alert(1)</script>",
    }  # fmt: skip
    return Losses(
        np.repeat(REGIMES, 4),
        steps,
        5 - steps / 60 + rng.normal(0, 0.1, len(steps)),
        (cliff, cliff | {"kind": "gap", "nats": ""}),
    )


def without_extras(geometry: Geometry) -> Geometry:
    """What a run without dictionary, plane, control and cliffs has."""
    return replace(
        geometry,
        vectors=replace(geometry.vectors, related=(), entries=0, note="There is no dictionary."),
        terrain=replace(
            terrain(np.random.default_rng(3), control=False), plane=None, judgements=()
        ),
        losses=replace(geometry.losses, alarms=()),
        walk=replace(geometry.walk, triangles=()),
    )
