"""The token table, as tables."""

from __future__ import annotations

import numpy as np
from pandas import DataFrame, concat

from andrea.geometry.measure.result import Geometry
from andrea.geometry.vectors.measure.result import Chosen, Vectors, Words

QUARTILES = ("q25", "median", "q75")

Names = tuple[str, ...]


def tables(geometry: Geometry) -> dict[str, DataFrame]:
    """Frames by name; empty ones for what was not measured."""
    vectors, checkpoints = geometry.vectors, geometry.facts.checkpoints
    return {
        "table": _table(vectors, checkpoints),
        "components": _components(vectors, checkpoints),
        "similarity": _similarity(vectors, checkpoints),
        "movement": _movement(vectors, checkpoints[1:]),
        "words": _words(vectors.words),
        "chosen": _chosen(vectors.chosen),
        "related": _related(vectors),
        "pairs": _pairs(vectors, checkpoints[-1]),
    }


def _table(vectors: Vectors, checkpoints: Names) -> DataFrame:
    """The token table at each checkpoint."""
    return DataFrame(
        {
            "checkpoint": checkpoints,
            "effective_rank": [one.effective_rank for one in vectors.spectra],
            "participation_ratio": [one.participation_ratio for one in vectors.spectra],
            "isotropy": [one.isotropy for one in vectors.spectra],
            "mean_cosine": [one.any_pair for one in vectors.cosines],
            "mean_cosine_same_frequency": [one.same_bin for one in vectors.cosines],
        }
    )


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


def _similarity(vectors: Vectors, checkpoints: Names) -> DataFrame:
    one, other = pairs = np.triu_indices(len(checkpoints), 1)
    return DataFrame(
        {
            "one": [checkpoints[place] for place in one],
            "other": [checkpoints[place] for place in other],
            "cka": vectors.similarity.cka[pairs],
            "chance": vectors.similarity.chance[pairs],
        }
    )


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
    return DataFrame(
        {
            "word": words.words,
            "count": words.counts,
            "tokens": words.tokens,
            "x": words.map.places[:, 0],
            "y": words.map.places[:, 1],
            "nearest": [
                " ".join(words.words[place] for place in near) for near in words.neighbours.ids
            ],
        }
    )


def _chosen(chosen: Chosen) -> DataFrame:
    one, other = pairs = np.triu_indices(len(chosen.words), 1)
    return DataFrame(
        {
            "word": [chosen.words[place] for place in one],
            "other": [chosen.words[place] for place in other],
            "euclidean": chosen.euclidean[pairs],
            "cosine": chosen.cosine[pairs],
        }
    )


def _related(vectors: Vectors) -> DataFrame:
    return DataFrame(
        [
            {
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
            for row in vectors.related
            if row.found is not None
        ]
    )


def _pairs(vectors: Vectors, last: str) -> DataFrame:
    """Of the last checkpoint's table, beside words of any part of speech."""
    for row in vectors.related:
        if row.found is not None and row.checkpoint == last and not row.same_part:
            close = row.found
            return DataFrame(
                {
                    "word": [pair.word for pair in close.pairs],
                    "relative": [pair.relative for pair in close.pairs],
                    "part_of_speech": [pair.part for pair in close.pairs],
                    "kind": [pair.kind for pair in close.pairs],
                    "cosine": close.related,
                    "random_word": close.strangers,
                    "random_cosine": close.strange,
                    "expected_cosine": close.expected,
                }
            )
    return DataFrame()
