"""The token table, as tables."""

from __future__ import annotations

import numpy as np
from pandas import DataFrame, concat

from andrea.geometry.measure.result import Geometry
from andrea.geometry.vectors.measure.result import Floats, Vectors, Words

QUARTILES = ("q25", "median", "q75")

Names = tuple[str, ...]


def tables(geometry: Geometry) -> dict[str, DataFrame]:
    """Frames by name; empty ones for what was not measured."""
    vectors, checkpoints = geometry.vectors, geometry.facts.checkpoints
    chosen = vectors.chosen
    return {
        "table": _table(vectors, checkpoints),
        "components": _components(vectors, checkpoints),
        "similarity": _pairwise(checkpoints, "one", **vars(vectors.similarity)),
        "movement": _movement(vectors, checkpoints[1:]),
        "words": _words(vectors.words),
        "chosen": _pairwise(chosen.words, "word", euclidean=chosen.euclidean, cosine=chosen.cosine),
        "related": _related(vectors),
        "pairs": _pairs(vectors, checkpoints[-1]),
    }


def _table(vectors: Vectors, checkpoints: Names) -> DataFrame:
    """The token table at each checkpoint."""
    both = zip(vectors.spectra, vectors.cosines, strict=True)
    frame = DataFrame([vars(one) | vars(two) for one, two in both])
    frame = frame.drop(columns=["shares", "by_bins"])
    frame = frame.rename(
        columns={"any_pair": "mean_cosine", "same_bin": "mean_cosine_same_frequency"}
    )
    frame.insert(0, "checkpoint", checkpoints)
    return frame


def _components(vectors: Vectors, checkpoints: Names) -> DataFrame:
    return concat(
        DataFrame(
            {
                "checkpoint": name,
                "component": np.arange(1, len(top.shares) + 1),
                "share": top.shares,
                "frequency_correlation": top.correlation,
            }
        )
        for name, top in zip(checkpoints, vectors.components, strict=True)
    )


def _pairwise(names: Names, first: str, **values: Floats) -> DataFrame:
    """What is known of every two things, a row a pair, from matrices of all pairs."""
    one, other = pairs = np.triu_indices(len(names), 1)
    labels = np.array(names, dtype=object)
    found = {column: matrix[pairs] for column, matrix in values.items()}
    return DataFrame({first: labels[one], "other": labels[other]} | found)


def _movement(vectors: Vectors, checkpoints: Names) -> DataFrame:
    bins = vectors.bins
    frames = []
    for place, name in enumerate(checkpoints):
        frame = DataFrame({"checkpoint": name, "occurrences": bins.labels, "tokens": bins.sizes})
        for column in ("from_start", "in_regime", "cosine"):
            quartiles = getattr(vectors.movement, f"{column}_quartiles")[place]
            frame[[f"{column}.{q}" for q in QUARTILES]] = quartiles
        frames.append(frame)
    return concat(frames)


def _words(words: Words) -> DataFrame:
    x, y = words.map.places.T
    nearest = [" ".join(words.words[place] for place in near) for near in words.neighbours.ids]
    columns = {"word": words.words, "count": words.counts, "tokens": words.tokens, "x": x, "y": y}
    return DataFrame(columns | {"nearest": nearest})


def _related(vectors: Vectors) -> DataFrame:
    found = [(row, row.found) for row in vectors.related if row.found is not None]
    rows = [vars(row) | vars(close) | {"pairs": len(close.pairs)} for row, close in found]
    names = {
        "checkpoint": "checkpoint", "same_part": "same_part_of_speech", "pairs": "pairs",
        "relatives": "relatives", "mean_related": "related_cosine",
        "mean_expected": "random_cosine", "difference": "difference", "low": "low",
        "high": "high", "wins": "wins",
    }  # fmt: skip
    return DataFrame(rows, columns=list(names)).rename(columns=names)


def _pairs(vectors: Vectors, last: str) -> DataFrame:
    """Of the last checkpoint's table, beside words of any part of speech."""
    for row in vectors.related:
        if row.found is not None and row.checkpoint == last and not row.same_part:
            close = row.found
            pairs = DataFrame(map(vars, close.pairs)).rename(columns={"part": "part_of_speech"})
            return pairs.assign(
                cosine=close.related,
                random_word=close.strangers,
                random_cosine=close.strange,
                expected_cosine=close.expected,
            )
    return DataFrame()
