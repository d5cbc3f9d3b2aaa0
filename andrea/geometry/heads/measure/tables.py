"""The heads, as tables."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from pandas import DataFrame, concat

from andrea.geometry.heads.measure.heads import PerHead
from andrea.geometry.heads.measure.result import Heads
from andrea.geometry.heads.measure.subspaces import PROJECTIONS, Subspaces
from andrea.geometry.measure.result import Geometry

Names = Any  # an array of text, (N,)


def tables(geometry: Geometry) -> dict[str, DataFrame]:
    """Frames by name."""
    layers, heads = range(geometry.facts.layers), range(geometry.facts.heads)
    names = np.array([f"{layer + 1}.{head + 1}" for layer in layers for head in heads], object)
    return {
        "heads": _heads(geometry.heads, names),
        "subspaces": _subspaces(geometry.heads.subspaces, names),
    }


def _heads(heads: Heads, names: Names) -> DataFrame:
    columns = {"head": names}
    for text, statistics in (("text", heads.text), ("repeated", heads.repeated)):
        for field in fields(PerHead):
            column = f"{text}_{field.name}"
            columns[column] = getattr(statistics.mean, field.name).ravel()
            columns[f"{column}_error"] = getattr(statistics.standard_error, field.name).ravel()
    return DataFrame(columns)


def _subspaces(shared: Subspaces, names: Names) -> DataFrame:
    one, other = pairs = np.triu_indices(len(names), 1)
    return concat(
        DataFrame(
            {
                "projection": projection,
                "head": names[one],
                "other": names[other],
                "squared_cosine": shared.squared_cosine[place][pairs],
                "expected": shared.expected[place][pairs],
                "deviation": shared.deviation[place][pairs],
            }
        )
        for place, projection in enumerate(PROJECTIONS)
    )
