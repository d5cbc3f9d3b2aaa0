"""The geometry of a run in a few dozen numbers: what a comparison of experiments looks at first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from andrea.geometry.heads.measure import metrics as heads
from andrea.geometry.measure.result import Geometry
from andrea.geometry.terrain.measure import metrics as terrain
from andrea.geometry.vectors.measure import metrics as vectors
from andrea.geometry.walk.measure import metrics as walk

CHAPTERS = {"vectors": vectors, "heads": heads, "terrain": terrain, "walk": walk}


def metrics(geometry: Geometry) -> dict[str, Any]:
    """Numbers by chapter and name, all finite; what is not known is left out."""
    numbers: dict[str, Any] = _finite(
        {name: chapter.metrics(geometry) for name, chapter in CHAPTERS.items()}
    )
    return numbers


def summary(geometry: Geometry) -> list[str]:
    """What was measured, a line a chapter."""
    return [chapter.summary(geometry) for chapter in CHAPTERS.values()]


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        kept = {key: _finite(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one is not None}
    if isinstance(value, float):  # as NumPy's float64 is
        return float(value) if math.isfinite(value) else None
    return value
