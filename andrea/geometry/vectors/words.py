"""The chapter on the token table, in words."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from andrea.geometry.measure.result import Geometry
from andrea.geometry.page.section import Chapter, Picture, Section, Table, listed
from andrea.geometry.vectors import figures as draw
from andrea.geometry.vectors.measure.closeness import Closeness
from andrea.geometry.vectors.measure.result import Related, Vectors

NEIGHBOURS = 5
SHOWN_WORDS = 24  # of the most frequent, in the table of neighbours
SHOWN_PAIRS = 12


def chapter(geometry: Geometry) -> Chapter:
    """The token table of a run."""
    vectors, names = geometry.vectors, geometry.facts.checkpoints
    return Chapter(
        "vectors",
        "Vectors: a token is a point",
        f"The network keeps one row of {geometry.facts.width} numbers for each of its"
        f" {geometry.facts.vocabulary:,} tokens. These rows are points in a space, and training"
        f" moves them. {vectors.note}".strip(),
        [
            _word_map(vectors),
            _neighbours(vectors),
            _spectrum(vectors, names),
            _frequency(vectors, names),
            _movement(vectors, names),
            _similarity(vectors, names),
            *([_related(vectors)] if vectors.related else []),
        ],
    )


def _word_map(vectors: Vectors) -> Section:
    words, placed = vectors.words, vectors.words.map
    pca = placed.method == "pca"
    kept = f"The two axes keep {sum(placed.shares):.0%} of the variance. " if pca else ""
    warning = (
        "Much is lost in the flattening: what is near here need not be near in the table."
        if pca
        else "Only who is near whom means something; sizes of groups and gaps between them do not."
    )
    count, several = len(words.words), int((words.tokens > 1).sum())
    alternative = (
        f"Map of {count} words by {placed.method.upper()}; each word stands where its vector falls."
        " Words that would cover others are dots."
    )
    return Section(
        "word-map",
        "A map of words",
        f"The {count} most frequent words, laid out in the plane by the direction of their vectors."
        " A word of several tokens is the mean of its tokens' rows.",
        "Look for islands of one kind: names, verb forms, function words; and whether the map is"
        " sorted by nothing but frequency.",
        f"{kept}{several} of the {count} words have more than one token. {warning}",
        [Picture(draw.word_map(words.words, placed), alternative, comparable=False)],
    )


def _neighbours(vectors: Vectors) -> Section:
    words, chosen, near = vectors.words, vectors.chosen, vectors.words.neighbours
    best = near.cosine[:, 0]
    listed_words = [
        [f"{words.words[n]} {cosine:.2f}" for n, cosine in zip(*row, strict=True)]
        for row in zip(near.ids[:, :NEIGHBOURS], near.cosine[:, :NEIGHBOURS], strict=True)
    ]
    apart = [
        [f"{cosine:.2f} / {length:.2f}" for cosine, length in zip(*row, strict=True)]
        for row in zip(chosen.cosine.T, chosen.euclidean.T, strict=True)
    ]
    named = Table.of(
        "Words that the parameters name",
        ("word", chosen.words, ""),
        ("its tokens", ["│".join(pieces) for pieces in chosen.pieces], ""),
        ("nearest", [", ".join(nearest[:NEIGHBOURS]) for nearest in chosen.nearest], ""),
    )
    distances = Table.of(
        "Cosine / Euclidean distance",
        ("", chosen.words, ""),
        *((word, column, "") for word, column in zip(chosen.words, apart, strict=True)),
    )
    frequent = Table.of(
        "The most frequent words",
        ("word", words.words[:SHOWN_WORDS], ""),
        ("nearest by cosine", [", ".join(row) for row in listed_words[:SHOWN_WORDS]], ""),
    )
    return Section(
        "neighbours",
        "Nearest neighbours",
        "For each word those whose vectors point most nearly the same way. A cosine of 1 is the"
        " same direction, 0 a right angle.",
        "Look for words of one kind. A small network first finds mere spellings of one word, and"
        " words that stand in the same places of a sentence.",
        f"The nearest neighbour of a frequent word has a cosine of {np.median(best):.2f} in the"
        f" median, {best.max():.2f} at most.",
        tables=[named, *([distances] if len(chosen.words) > 1 else []), frequent],
        metrics={"median cosine of the nearest word": float(np.median(best))},
    )


def _spectrum(vectors: Vectors, names: tuple[str, ...]) -> Section:
    spectra = vectors.spectra
    first, last = spectra[0], spectra[-1]
    ranks = [
        ("effective rank", [one.effective_rank for one in spectra], ".1f"),
        ("participation ratio", [one.participation_ratio for one in spectra], ".1f"),
        ("isotropy", [one.isotropy for one in spectra], ".3f"),
    ]
    picture = Picture(
        draw.spectrum(list(zip(names, spectra, strict=True))),
        f"Falling curves of the share of variance by component, for {listed(names)}.",
    )
    return Section(
        "spectrum",
        "How much of its room the table uses",
        "Principal components are the directions of most variance, the largest first. A round ball"
        " would use all directions alike; a collapsed table uses a few.",
        "Look at how steeply the curve falls and whether training made it steeper. Ranks far below"
        " the width say that most directions are hardly used.",
        f"The effective rank went from {first.effective_rank:.1f} to {last.effective_rank:.1f} of"
        f" {len(last.shares)}, the isotropy (1 is a ball, 0 a line) from {first.isotropy:.2f} to"
        f" {last.isotropy:.2f}. The largest component holds {last.shares[0]:.1%} of the variance.",
        [picture],
        [Table.of("By checkpoint", ("checkpoint", names, ""), *ranks)],
        metrics={name: values[-1] for name, values, _ in ranks},
    )


def _frequency(vectors: Vectors, names: tuple[str, ...]) -> Section:
    top, cosines, labels = vectors.components[-1], vectors.cosines[-1], vectors.bins.labels
    strongest = int(np.abs(top.correlation).argmax())
    correlations = ", ".join(f"{value:+.2f}" for value in top.correlation)
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
        f" {cosines.any_pair:.3f}, of two of like frequency {cosines.same_bin:.3f}; in the initial"
        f" table it was {vectors.cosines[0].any_pair:.3f} and {vectors.cosines[0].same_bin:.3f}.",
        [
            Picture(
                draw.components(top),
                f"Correlation of the {len(top.shares)} largest components with log frequency:"
                f" {correlations}",
            ),
            Picture(
                draw.cosines(labels, cosines),
                f"Mean cosine between bins of frequency {listed(labels)} after {names[-1]}.",
            ),
        ],
        metrics={
            "mean cosine of any two tokens": cosines.any_pair,
            "mean cosine at like frequency": cosines.same_bin,
        },
    )


def _movement(vectors: Vectors, names: tuple[str, ...]) -> Section:
    labels, moved = vectors.bins.labels, vectors.movement
    medians = moved.from_start_quartiles[-1, :, 1]
    cosines = moved.cosine_quartiles[-1, :, 1]
    far = int(medians.argmax())
    picture = Picture(
        draw.movement(names[1:], labels, moved),
        "Distance and cosine of tokens with their first place, by bins of frequency"
        f" {listed(labels)}, after {listed(names[1:])}.",
    )
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
        [picture],
        metrics={
            "median distance, most frequent tokens": float(medians[-1]),
            "median cosine with the start, most frequent tokens": float(cosines[-1]),
        },
    )


def _similarity(vectors: Vectors, names: tuple[str, ...]) -> Section:
    cka, chance, drift = vectors.similarity.cka, vectors.similarity.chance, vectors.drift
    pairs = [f"{one} → {other}" for one, other in [*pairwise(names), (names[0], names[-1])]]
    sentences = [
        f"{names[i]} and {names[j]} {cka[i, j]:.2f}" for i, j in combinations(range(len(names)), 2)
    ]
    picture = Picture(
        draw.similarity(names, vectors.similarity),
        f"CKA between {listed(names)}: {'; '.join(sentences)}",
    )
    table = Table.of(
        "How far the whole table moved, as a share of its length",
        ("from → to", pairs, ""),
        ("moved", [one.apart for one in drift], ".3f"),
        ("left after the best rotation", [one.rotated_off for one in drift], ".3f"),
    )
    return Section(
        "similarity",
        "Is it still the same table?",
        "CKA compares two tables as shapes: 1 is the same shape up to rotation and scale. In"
        " brackets: what tables without anything in common would have.",
        "Look at how little a late regime changes, and at how much of the early shape survives."
        " Where the second column of the table is well below the first, the cloud only turned.",
        f"From the initial table to the last, CKA is {cka[0, -1]:.2f} (chance {chance[0, -1]:.2f});"
        f" over the last regime it is {cka[-2, -1]:.2f}.",
        [picture],
        [table],
        metrics={"CKA, initial and last": float(cka[0, -1])},
    )


def _related(vectors: Vectors) -> Section:
    known = [(row, row.found) for row in vectors.related if row.found is not None]
    pictures, tables, metrics = [], [_related_table(vectors.related)], {}
    numbers = "Too few pairs are left for an answer."
    if known:
        row, found = known[-1]
        numbers = _answer(row, found)
        alternative = (
            f"Histograms of cosines: related words (mean {found.related.mean():.3f}) and random"
            f" words of the same frequency (mean {found.strange.mean():.3f})."
        )
        pictures.append(Picture(draw.closeness(found), alternative))
        some = slice(SHOWN_PAIRS)
        pairs = Table.of(
            "Some of the pairs",
            ("word", [pair.word for pair in found.pairs[some]], ""),
            ("relative", [pair.relative for pair in found.pairs[some]], ""),
            ("cosine", found.related[some], ".2f"),
            ("stranger", found.strangers[some], ""),
            ("cosine", found.strange[some], ".2f"),
        )
        tables.append(pairs)
        metrics = {"related words closer by": found.difference, "wins over strangers": found.wins}
    return Section(
        "related",
        "Are related words closer?",
        f"Pairs such as an animal and its kind are read from {vectors.entries:,} entries of the"
        " dictionary source by a fixed rule, not picked by hand. Each relative is set against"
        " random words of the same frequency.",
        "Look at the interval: where it lies above 0, the table knows something of meaning, at this"
        " scale, beyond frequency.",
        numbers,
        pictures,
        tables,
        metrics=metrics,
    )


def _answer(row: Related, closeness: Closeness) -> str:
    answer = "This table does not tell: the interval holds 0"
    if closeness.low > 0:
        answer = "Yes, related words are closer"
    elif closeness.high < 0:
        answer = "No, related words are farther apart"
    return (
        f"{answer}. In the table after {row.checkpoint}, {len(closeness.pairs):,} pairs have a mean"
        f" cosine of {closeness.mean_related:.3f} where words of the same frequency"
        f"{' and part of speech' if row.same_part else ''} have {closeness.mean_expected:.3f}: a"
        f" difference of {closeness.difference:+.3f}, 95 % interval {closeness.low:+.3f} to"
        f" {closeness.high:+.3f}. A relative beats {closeness.wins:.0%} of the strangers; chance is"
        " 50 %."
    )


def _related_table(rows: tuple[Related, ...]) -> Table:
    def shown(row: Related) -> tuple[str, ...]:
        pairs = row.found
        if pairs is None:
            return ("too few", "", "", "")
        interval = f"{pairs.low:+.3f} to {pairs.high:+.3f}"
        return f"{len(pairs.pairs):,}", f"{pairs.difference:+.3f}", interval, f"{pairs.wins:.0%}"

    alike = ("frequency", "frequency and part of speech")
    return Table(
        "Related words less strangers, mean cosine",
        ("table", "tokens of a word", "strangers alike in", "pairs", "difference", "interval",
         "wins"),
        [
            (row.checkpoint, f"at most {row.most_tokens}", alike[row.same_part], *shown(row))
            for row in rows
        ],
    )  # fmt: skip
