"""The chapter on the token table, second part: the words in it."""

from __future__ import annotations

import numpy as np

from andrea.geometry.page.section import Picture, Section, Table
from andrea.geometry.vectors import figures as draw
from andrea.geometry.vectors.measure.result import Related, Vectors

NEIGHBOURS = 5
SHOWN_WORDS = 24  # of the most frequent, in the table of neighbours
SHOWN_PAIRS = 12


def word_map(vectors: Vectors) -> Section:
    """The most frequent words in the plane."""
    words, placed = vectors.words, vectors.words.map
    pca = placed.method == "pca"
    kept = f"The two axes keep {sum(placed.shares):.0%} of the variance. " if pca else ""
    warning = (
        "Much is lost in the flattening: what is near here need not be near in the table."
        if pca
        else "Only who is near whom means something; sizes of groups and gaps between them do not."
    )
    several = int((words.tokens > 1).sum())
    return Section(
        "word-map",
        "A map of words",
        f"The {len(words.words)} most frequent words, laid out in the plane by the direction of"
        " their vectors. A word of several tokens is the mean of its tokens' rows.",
        "Look for islands of one kind: names, verb forms, function words; and whether the map is"
        " sorted by nothing but frequency.",
        f"{kept}{several} of the {len(words.words)} words have more than one token. {warning}",
        [
            Picture(
                draw.word_map(words.words, placed),
                f"Map of {len(words.words)} words by {placed.method.upper()}; each word stands"
                " where its vector falls. Words that would cover others are dots.",
                comparable=False,
            )
        ],
    )


def neighbours(vectors: Vectors) -> Section:
    """What is nearest to each word."""
    words, chosen = vectors.words, vectors.chosen
    best = words.neighbours.cosine[:, 0]
    rows = [
        (word, "│".join(pieces), ", ".join(nearest[:NEIGHBOURS]))
        for word, pieces, nearest in zip(chosen.words, chosen.pieces, chosen.nearest, strict=True)
    ]
    tables = [
        Table("Words that the parameters name", ("word", "its tokens", "nearest"), rows),
        Table(
            "The most frequent words",
            ("word", "nearest by cosine"),
            [
                (
                    word,
                    ", ".join(
                        f"{words.words[n]} {cosine:.2f}"
                        for n, cosine in zip(ids[:NEIGHBOURS], cosines, strict=False)
                    ),
                )
                for word, ids, cosines in zip(
                    words.words[:SHOWN_WORDS],
                    words.neighbours.ids.tolist(),
                    words.neighbours.cosine.tolist(),
                    strict=False,
                )
            ],
        ),
    ]
    if len(chosen.words) > 1:
        tables.insert(1, _distances(vectors))
    return Section(
        "neighbours",
        "Nearest neighbours",
        "For each word those whose vectors point most nearly the same way. A cosine of 1 is the"
        " same direction, 0 a right angle.",
        "Look for words of one kind. A small network first finds mere spellings of one word, and"
        " words that stand in the same places of a sentence.",
        f"The nearest neighbour of a frequent word has a cosine of {np.median(best):.2f} in the"
        f" median, {best.max():.2f} at most.",
        tables=[table for table in tables if table.rows],
        metrics={"median cosine of the nearest word": float(np.median(best))},
    )


def _distances(vectors: Vectors) -> Table:
    chosen = vectors.chosen
    return Table(
        "Cosine / Euclidean distance",
        ("", *chosen.words),
        [
            (
                word,
                *(
                    f"{cosine:.2f} / {apart:.2f}"
                    for cosine, apart in zip(cosines, distances, strict=True)
                ),
            )
            for word, cosines, distances in zip(
                chosen.words, chosen.cosine.tolist(), chosen.euclidean.tolist(), strict=True
            )
        ],
    )


def related(vectors: Vectors) -> Section:
    """Whether words that the dictionary relates are closer than others."""
    last = [row for row in vectors.related if row.found is not None]
    head = last[-1] if last else None
    pictures, tables, numbers, metrics = [], [_related_table(vectors.related)], "", {}
    if head is None or head.found is None:
        numbers = "Too few pairs are left for an answer."
    else:
        found = head.found
        answer = (
            "Yes, related words are closer"
            if found.low > 0
            else "No, related words are farther apart"
            if found.high < 0
            else "This table does not tell: the interval holds 0"
        )
        numbers = (
            f"{answer}. In the table after {head.checkpoint}, {len(found.pairs):,} pairs have a"
            f" mean cosine of {found.mean_related:.3f} where words of the same frequency"
            f"{' and part of speech' if head.same_part else ''} have {found.mean_expected:.3f}: a"
            f" difference of {found.difference:+.3f}, 95 % interval {found.low:+.3f} to"
            f" {found.high:+.3f}. A relative beats {found.wins:.0%} of the strangers; chance is 50"
            " %."
        )
        pictures.append(
            Picture(
                draw.closeness(found),
                f"Histograms of cosines: related words (mean {found.related.mean():.3f}) and random"
                f" words of the same frequency (mean {found.strange.mean():.3f}).",
            )
        )
        tables.append(
            Table(
                "Some of the pairs",
                ("word", "relative", "cosine", "stranger", "cosine"),
                [
                    (pair.word, pair.relative, f"{near:.2f}", stranger, f"{far:.2f}")
                    for pair, stranger, near, far in zip(
                        found.pairs[:SHOWN_PAIRS],
                        found.strangers,
                        found.related.tolist(),
                        found.strange.tolist(),
                        strict=False,
                    )
                ],
            )
        )
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


def _related_table(rows: tuple[Related, ...]) -> Table:
    cells: list[tuple[str, ...]] = []
    for row in rows:
        against = "frequency and part of speech" if row.same_part else "frequency"
        start = (row.checkpoint, f"at most {row.most_tokens}", against)
        found = row.found
        if found is None:
            cells.append((*start, "too few", "", "", ""))
        else:
            interval = f"{found.low:+.3f} to {found.high:+.3f}"
            pairs = f"{len(found.pairs):,}"
            cells.append((*start, pairs, f"{found.difference:+.3f}", interval, f"{found.wins:.0%}"))
    return Table(
        "Related words less strangers, mean cosine",
        (
            "table",
            "tokens of a word",
            "strangers alike in",
            "pairs",
            "difference",
            "interval",
            "wins",
        ),
        cells,
    )
