"""The token table, as tables."""

from __future__ import annotations

from collections.abc import Iterator

from andrea.geometry.measure.result import Geometry
from andrea.geometry.measure.row import QUARTILES, Row


def tables(found: Geometry) -> dict[str, Iterator[Row]]:
    """Rows by name of the table."""
    return {
        "table": _table(found),
        "components": _components(found),
        "similarity": _similarity(found),
        "movement": _movement(found),
        "words": _words(found),
        "chosen": _chosen(found),
        "related": _related(found),
        "pairs": _pairs(found),
    }


def _table(found: Geometry) -> Iterator[Row]:
    """The token table at each checkpoint."""
    every = zip(found.facts.checkpoints, found.vectors.spectra, found.vectors.cosines, strict=True)
    for name, spectrum, cosines in every:
        yield {
            "checkpoint": name,
            "effective_rank": spectrum.effective_rank,
            "participation_ratio": spectrum.participation_ratio,
            "isotropy": spectrum.isotropy,
            "mean_cosine": cosines.any_pair,
            "mean_cosine_same_frequency": cosines.same_bin,
        }


def _components(found: Geometry) -> Iterator[Row]:
    for name, top in zip(found.facts.checkpoints, found.vectors.components, strict=True):
        for place, (share, correlation) in enumerate(zip(top.shares, top.correlation, strict=True)):
            yield {
                "checkpoint": name,
                "component": place + 1,
                "share": share,
                "frequency_correlation": correlation,
            }


def _similarity(found: Geometry) -> Iterator[Row]:
    names, same = found.facts.checkpoints, found.vectors.similarity
    for i, one in enumerate(names):
        for j, other in enumerate(names[i + 1 :], i + 1):
            yield {"one": one, "other": other, "cka": same.cka[i, j], "chance": same.chance[i, j]}


def _movement(found: Geometry) -> Iterator[Row]:
    moved, bins = found.vectors.movement, found.vectors.bins
    for place, name in enumerate(found.facts.checkpoints[1:]):
        for number, label in enumerate(bins.labels):
            row: Row = {"checkpoint": name, "occurrences": label, "tokens": bins.sizes[number]}
            for column in ("from_start", "in_regime", "cosine"):
                quartiles = getattr(moved, f"{column}_quartiles")[place, number]
                row |= {f"{column}.{q}": x for q, x in zip(QUARTILES, quartiles, strict=True)}
            yield row


def _words(found: Geometry) -> Iterator[Row]:
    words = found.vectors.words
    for place, word in enumerate(words.words):
        x, y = words.map.places[place]
        near = [words.words[other] for other in words.neighbours.ids[place]]
        yield {
            "word": word, "count": words.counts[place], "tokens": words.tokens[place],
            "x": x, "y": y, "nearest": " ".join(near),
        }  # fmt: skip


def _chosen(found: Geometry) -> Iterator[Row]:
    chosen = found.vectors.chosen
    for i, one in enumerate(chosen.words):
        for j, other in enumerate(chosen.words[i + 1 :], i + 1):
            yield {
                "word": one,
                "other": other,
                "euclidean": chosen.euclidean[i, j],
                "cosine": chosen.cosine[i, j],
            }


def _related(found: Geometry) -> Iterator[Row]:
    for row in found.vectors.related:
        if row.found is not None:
            yield {
                "checkpoint": row.checkpoint,
                "same_part_of_speech": row.same_part,
                "pairs": len(row.found.pairs),
                "relatives": row.found.relatives,
                "related_cosine": row.found.mean_related,
                "random_cosine": row.found.mean_expected,
                "difference": row.found.difference,
                "low": row.found.low,
                "high": row.found.high,
                "wins": row.found.wins,
            }


def _pairs(found: Geometry) -> Iterator[Row]:
    """Of the last checkpoint's table, beside words of any part of speech."""
    for row in found.vectors.related:
        close = row.found
        if (
            close is not None
            and row.checkpoint == found.facts.checkpoints[-1]
            and not row.same_part
        ):
            for place, pair in enumerate(close.pairs):
                yield {
                    "word": pair.word,
                    "relative": pair.relative,
                    "part_of_speech": pair.part,
                    "kind": pair.kind,
                    "cosine": close.related[place],
                    "random_word": close.strangers[place],
                    "random_cosine": close.strange[place],
                    "expected_cosine": close.expected[place],
                }
