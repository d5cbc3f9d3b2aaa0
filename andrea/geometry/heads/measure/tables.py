"""The heads, as tables."""

from __future__ import annotations

import numpy as np
from pandas import DataFrame, concat

from andrea.geometry.heads.measure.heads import head_names
from andrea.geometry.heads.measure.subspaces import PROJECTIONS
from andrea.geometry.measure.result import Geometry


def tables(geometry: Geometry) -> dict[str, DataFrame]:
    """Frames by name."""
    heads, shared = geometry.heads, geometry.heads.subspaces
    names = np.array(head_names(geometry.facts.layers, geometry.facts.heads), object)
    columns = {"head": names}
    for text, found in (("text", heads.text), ("repeated", heads.repeated)):
        for name, mean in vars(found.mean).items():
            columns[f"{text}_{name}"] = mean.ravel()
            columns[f"{text}_{name}_error"] = getattr(found.standard_error, name).ravel()
    one, other = pairs = np.triu_indices(len(names), 1)
    subspaces = concat(
        DataFrame(
            {"projection": projection, "head": names[one], "other": names[other]}
            | {
                column: getattr(shared, column)[place][pairs]
                for column in ("squared_cosine", "expected", "deviation")
            }
        )
        for place, projection in enumerate(PROJECTIONS)
    )
    return {"heads": DataFrame(columns), "subspaces": subspaces}
