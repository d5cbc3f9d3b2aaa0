"""The chapter on the walk, in words."""

from __future__ import annotations

import math

import numpy as np

from andrea.geometry.measure.result import Geometry
from andrea.geometry.page.section import Chapter, Picture, Section, Table, listed
from andrea.geometry.walk import figures as draw
from andrea.geometry.walk.measure.result import Walk


def chapter(geometry: Geometry) -> Chapter:
    """The path of the mixture."""
    walk, sources = geometry.walk, geometry.facts.sources
    return Chapter(
        "walk",
        "Walk: the curriculum is a path on a simplex",
        f"A mixture of {len(sources)} sources is {len(sources)} shares that sum to 1: a point of a"
        " simplex. Floors and caps cut a polygon out of it for each regime, and the mixture walks"
        f" in there, {len(walk.path.steps):,} phases in {listed(walk.regimes)}.",
        [
            _bands(walk, sources),
            _plane(walk, sources),
            _stands(walk, sources),
            _payoffs(walk, sources),
            _shares(walk, sources),
            *(_triangle(walk, number) for number in range(len(walk.triangles))),
        ],
    )


def _bands(walk: Walk, sources: tuple[str, ...]) -> Section:
    parts = []
    for size, planned in zip(walk.sizes, walk.shares.planned, strict=False):
        top = int(planned.argmax())
        parts.append(
            f"{size.name} (steps {size.start_step:,} to {size.end_step:,}, {size.phases} phases,"
            f" {size.random_share:.0%} of the steps at random) gave {sources[top]} most,"
            f" {planned[top]:.0%}"
        )
    picture = Picture(
        draw.stacked(walk, sources),
        f"Stacked shares of {len(sources)} sources over steps, with the borders of"
        f" {listed(walk.regimes)}.",
    )
    return Section(
        "bands",
        "The mixture over time",
        "Each band is a source, as wide as its share of what the run asked for. In a random phase"
        " the mixture jumps anywhere in the allowed region; in a bandit phase it steps towards the"
        " sources from which the network learns most.",
        "Look at bands that appear or vanish where a regime begins, and at bands that stay wide for"
        " long: the walk camps there.",
        f"{listed(parts)}.",
        [picture],
    )


def _plane(walk: Walk, sources: tuple[str, ...]) -> Section:
    projected = walk.plane
    sizes = walk.sizes
    vertices = ["too many to list" if one.vertices is None else one.vertices for one in sizes]
    table = Table.of(
        "The regimes' regions",
        ("regime", [one.name for one in sizes], ""),
        ("dimension", [one.dimension for one in sizes], ""),
        ("share of its face of the simplex", [10**one.log10_share for one in sizes], ".2g"),
        ("vertices", vertices, ""),
        ("log10 of it", [one.log10_share for one in sizes], ".2f"),
    )
    picture = Picture(
        draw.plane(walk, sources),
        f"Polygons and phases of {listed(walk.regimes)} on two axes of the simplex.",
        comparable=False,
    )
    return Section(
        "walk-plane",
        "The walk seen from above",
        "Path and polygons of the regimes on the two directions in which the regions differ most."
        " Each dot is a phase; the grey dots are the corners of the simplex, where one source has"
        " everything.",
        "Look at where in its polygon a regime walks, and at the jump between polygons. Squares are"
        " a polygon's vertices; where they are too many, small points are uniform draws.",
        f"The plane shows {projected.explained.sum():.0%} of the path's variance; phases lie"
        f" {np.median(projected.off_plane):.2f} off it in the median,"
        f" {projected.off_plane.max():.2f} at most, so what looks near here may be far apart.",
        [picture],
        [table],
        metrics={
            f"{one.name}: log10 of the share of the simplex": one.log10_share for one in sizes
        },
    )


def _stands(walk: Walk, sources: tuple[str, ...]) -> Section:
    path = walk.path
    low = int(path.entropy.argmin())
    on_a_face = [
        f"{name} spent {share:.0%} of its steps with some source on a bound"
        for name, share in zip(walk.regimes, walk.faces.on_a_face, strict=True)
    ]
    rows = walk.where
    quantiles: list[tuple[str, list[tuple[float, ...] | None]]] = [
        ("entropy", [one.entropy for one in rows]),
        ("to the corner", [one.corner_distance for one in rows]),
        ("to the vertex", [one.vertex_distance for one in rows]),
    ]
    picture = Picture(
        draw.stands(walk),
        "Entropy, distance to the nearest corner, and number of sources on a bound, phase"
        " by phase.",
    )
    table = Table.of(
        "Beside chance: median (5 % to 95 %)",
        ("regime", [one.regime for one in rows], ""),
        ("phases", [one.kind for one in rows], ""),
        ("steps", [f"{one.steps:,}" if one.steps else "" for one in rows], ""),
        *((head, [_three(one) for one in values], "") for head, values in quantiles),
    )
    return Section(
        "stands",
        "How near to the corners",
        "Entropy is high where all sources have much the same share and 0 at a corner. The second"
        " row is the distance to the nearest corner, the third counts the sources that stand at"
        " their floor or cap.",
        "Look for values that stay low for many phases: the run camps next to a corner and forgets"
        " the rest. Random phases must look like chance in the table; bandit phases need not.",
        f"The lowest entropy was {path.entropy[low]:.2f} at step {path.start_step[low]:,}, nearest"
        f" to {sources[int(path.corner[low])]}; the largest possible is"
        f" {math.log(len(sources)):.2f}. {listed(on_a_face)}.",
        [picture],
        [table],
        metrics={
            f"{one.regime}, {one.kind}: median entropy": one.entropy[1]
            for one in rows
            if one.kind != "chance"
        },
    )


def _three(values: tuple[float, ...] | None) -> str:
    return "" if values is None else f"{values[1]:.2f} ({values[0]:.2f} to {values[2]:.2f})"


def _payoffs(walk: Walk, sources: tuple[str, ...]) -> Section:
    line = walk.timeline
    known = np.isfinite(line.rewards)
    means = np.where(known, line.rewards, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    best, worst = int(means.argmax()), int(means.argmin())
    pulled = int(walk.shares.realised[-1].argmax())
    picture = Picture(
        draw.payoffs(walk, sources),
        "Three maps, source by step: scores, rewards and share of the pulls.",
    )
    return Section(
        "payoffs",
        "What the bandit knew and earned",
        "A source's reward is what a phase on it taught the network; its score is that reward,"
        " averaged and raised for sources that were tried little. Pulls are the share of the"
        " sequences it got.",
        "Look for scores that draw together (nothing left to prefer), and for a source whose reward"
        " stays high while its score falls. Blank: not known, or not allowed.",
        f"{sources[best]} brought the highest mean reward, {means[best]:.3f}; {sources[worst]} the"
        f" lowest, {means[worst]:.3f}. {sources[pulled]} was pulled most,"
        f" {walk.shares.realised[-1, pulled]:.0%} of all sequences.",
        [picture],
        metrics={
            f"mean reward, {source}": float(mean)
            for source, mean in zip(sources, means, strict=True)
        },
    )


def _shares(walk: Walk, sources: tuple[str, ...]) -> Section:
    by_regime = walk.shares
    moved = by_regime.planned[-1] - by_regime.centre[-1]
    top, least = int(moved.argmax()), int(moved.argmin())
    table = Table.of(
        "Shares of the run",
        ("source", sources, ""),
        ("centre", by_regime.centre[-1], ".3f"),
        ("planned", by_regime.planned[-1], ".3f"),
        ("realised", by_regime.realised[-1], ".3f"),
    )
    picture = Picture(
        draw.shares(walk, sources),
        "Planned and realised share of each source beside the centre of the regions; the"
        " table holds the numbers.",
    )
    return Section(
        "shares",
        "Planned and realised",
        "What the run asked for, what it trained on, and what draws without any bandit would have"
        " asked for. The sampler deals whole sequences, so that realised follows planned within"
        " two.",
        "Look at how far a dot is from its tick: that is what the bandit preferred or refused. A"
        " cross beside its dot would be a broken sampler.",
        f"The bandit favoured {sources[top]} ({moved[top]:+.3f} against the centre) and held back"
        f" {sources[least]} ({moved[least]:+.3f}). Planned and realised differ by"
        f" {by_regime.deviation[-1]:.5f} at most, in"
        f" {sources[int(by_regime.deviation_source[-1])]}; at no time was a source more than"
        f" {np.abs(by_regime.lag_sequences).max():.2f} sequences behind.",
        [picture],
        [table],
        metrics={
            f"realised share, {source}": float(share)
            for source, share in zip(sources, by_regime.realised[-1], strict=True)
        },
    )


def _triangle(walk: Walk, number: int) -> Section:
    triangle = walk.triangles[number]
    mass = float(walk.path.steps @ triangle.mass / walk.path.steps.sum())
    areas = {
        name: reach.area_share for name, reach in zip(walk.regimes, triangle.reaches, strict=True)
    }
    sentences = [f"{name} reaches {area:.0%} of the triangle" for name, area in areas.items()]
    picture = Picture(
        draw.triangle(walk, triangle),
        f"Triangle of {listed(triangle.sources)} with the polygons and phases of"
        f" {listed(walk.regimes)}.",
    )
    return Section(
        f"triangle-{number + 1}",
        f"Triangle: {listed(triangle.sources)}",
        "The proportions of three sources among themselves; at a corner one of them has all. The"
        " polygons are what the floors and caps of each regime let them reach, the dots are phases,"
        " larger where the three hold more of the mixture.",
        "Look for sides of a polygon that cut off a corner, which are floors and caps at work, and"
        " for dots that crowd at a side.",
        f"{listed(sentences)}. Together the three held {mass:.0%} of the mixture on the mean over"
        " steps.",
        [picture],
        metrics={f"{name}: share of the triangle": area for name, area in areas.items()},
    )
