"""The chapter on the token table, in words."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from andrea.geometry.measure.result import Geometry
from andrea.geometry.page.section import Chapter, Picture, Section, Table, listed
from andrea.geometry.vectors import figures as draw
from andrea.geometry.vectors import word_sections as words
from andrea.geometry.vectors.measure.result import Vectors


def chapter(geometry: Geometry) -> Chapter:
    """The token table of a run."""
    vectors, names = geometry.vectors, geometry.facts.checkpoints
    sections = [
        words.word_map(vectors),
        words.neighbours(vectors),
        _spectrum(vectors, names),
        _frequency(vectors, names),
        _movement(vectors, names),
        _similarity(vectors, names),
    ]
    if vectors.related:
        sections.append(words.related(vectors))
    return Chapter(
        "vectors",
        "Vectors: a token is a point",
        f"The network keeps one row of {geometry.facts.width} numbers for each of its"
        f" {geometry.facts.vocabulary:,} tokens. These rows are points in a space, and training"
        f" moves them. {vectors.note}".strip(),
        sections,
    )


def _spectrum(vectors: Vectors, names: tuple[str, ...]) -> Section:
    first, last = vectors.spectra[0], vectors.spectra[-1]
    width = len(last.shares)
    return Section(
        "spectrum",
        "How much of its room the table uses",
        "Principal components are the directions of most variance, the largest first. A round ball"
        " would use all directions alike; a collapsed table uses a few.",
        "Look at how steeply the curve falls and whether training made it steeper. Ranks far below"
        " the width say that most directions are hardly used.",
        f"The effective rank went from {first.effective_rank:.1f} to {last.effective_rank:.1f} of"
        f" {width}, the isotropy (1 is a ball, 0 a line) from {first.isotropy:.2f} to"
        f" {last.isotropy:.2f}. The largest component holds {last.shares[0]:.1%} of the variance.",
        [
            Picture(
                draw.spectrum(list(zip(names, vectors.spectra, strict=True))),
                f"Falling curves of the share of variance by component, for {listed(names)}.",
            )
        ],
        [
            Table(
                "By checkpoint",
                ("checkpoint", "effective rank", "participation ratio", "isotropy"),
                [
                    (
                        name,
                        f"{one.effective_rank:.1f}",
                        f"{one.participation_ratio:.1f}",
                        f"{one.isotropy:.3f}",
                    )
                    for name, one in zip(names, vectors.spectra, strict=True)
                ],
            )
        ],
        metrics={
            "effective rank": last.effective_rank,
            "participation ratio": last.participation_ratio,
            "isotropy": last.isotropy,
        },
    )


def _frequency(vectors: Vectors, names: tuple[str, ...]) -> Section:
    top, found, labels = vectors.components[-1], vectors.cosines[-1], vectors.bins.labels
    strongest = int(np.abs(top.correlation).argmax())
    return Section(
        "frequency",
        "What is mere frequency",
        "Tokens that occur equally often are pushed alike, so part of the table's shape is only a"
        " list of frequencies. The bars show how far each large component orders tokens by"
        " frequency, the coloured table which bins point the same way.",
        "Look for a bar near 1 or -1 (its sign means nothing) and for a dark diagonal: two words"
        " of like frequency are then near each other for that reason alone.",
        f"Component {strongest + 1} follows log frequency most, with a correlation of"
        f" {top.correlation[strongest]:+.2f}. The mean cosine of two different tokens is"
        f" {found.any_pair:.3f}, of two of like frequency {found.same_bin:.3f}; in the initial"
        f" table it was {vectors.cosines[0].any_pair:.3f} and {vectors.cosines[0].same_bin:.3f}.",
        [
            Picture(
                draw.components(top),
                f"Correlation of the {len(top.shares)} largest components with log frequency: "
                + ", ".join(f"{value:+.2f}" for value in top.correlation),
            ),
            Picture(
                draw.cosines(labels, found),
                f"Mean cosine between bins of frequency {listed(labels)} after {names[-1]}.",
            ),
        ],
        metrics={
            "mean cosine of any two tokens": found.any_pair,
            "mean cosine at like frequency": found.same_bin,
        },
    )


def _movement(vectors: Vectors, names: tuple[str, ...]) -> Section:
    labels, moved = vectors.bins.labels, vectors.movement
    medians = moved.from_start_quartiles[-1, :, 1]
    cosines = moved.cosine_quartiles[-1, :, 1]
    far = int(medians.argmax())
    return Section(
        "movement",
        "How far tokens moved",
        "Each token's distance from the place where it began, by how often the token was read."
        " Dots are medians, bars quartiles.",
        "Look at tokens that never occur: no gradient reaches them, so they stay. A cosine near 0"
        " means that a token has forgotten where it began.",
        f"After {names[-1]} tokens read {labels[far]} times are farthest from the start"
        f" ({medians[far]:.2f} in the median); those read {labels[-1]} times moved"
        f" {medians[-1]:.2f} and kept a cosine of {cosines[-1]:.2f}, those read {labels[0]} times"
        f" moved {medians[0]:.2f} and kept {cosines[0]:.2f}.",
        [
            Picture(
                draw.movement(names[1:], labels, moved),
                "Distance and cosine of tokens with their first place, by bins of frequency"
                f" {listed(labels)}, after {listed(names[1:])}.",
            )
        ],
        metrics={
            "median distance, most frequent tokens": float(medians[-1]),
            "median cosine with the start, most frequent tokens": float(cosines[-1]),
        },
    )


def _similarity(vectors: Vectors, names: tuple[str, ...]) -> Section:
    found, drift = vectors.similarity, vectors.drift
    pairs = [
        *(f"{a} → {b}" for a, b in pairwise(names)),
        f"{names[0]} → {names[-1]}",
    ]
    return Section(
        "similarity",
        "Is it still the same table?",
        "CKA compares two tables as shapes: 1 is the same shape up to rotation and scale. In"
        " brackets: what tables without anything in common would have.",
        "Look at how little a late regime changes, and at how much of the early shape survives."
        " Where the second column of the table is well below the first, the cloud only turned.",
        f"From the initial table to the last, CKA is {found.cka[0, -1]:.2f}"
        f" (chance {found.chance[0, -1]:.2f}); over the last regime it is {found.cka[-2, -1]:.2f}.",
        [
            Picture(
                draw.similarity(names, found),
                f"CKA between {listed(names)}: "
                + "; ".join(
                    f"{names[i]} and {names[j]} {found.cka[i, j]:.2f}"
                    for i, j in zip(*np.triu_indices(len(names), 1), strict=True)
                ),
            )
        ],
        [
            Table(
                "How far the whole table moved, as a share of its length",
                ("from → to", "moved", "left after the best rotation"),
                [
                    (pair, f"{one.apart:.3f}", f"{one.rotated_off:.3f}")
                    for pair, one in zip(pairs, drift, strict=False)
                ],
            )
        ],
        metrics={"CKA, initial and last": float(found.cka[0, -1])},
    )
