"""The geometry of a run as tables, one per CSV file, ready to be plotted."""

from __future__ import annotations

from typing import Any

import pandas as pd

from andrea.geometry.heads.measure import tables as heads
from andrea.geometry.measure.result import Geometry
from andrea.geometry.terrain.measure import tables as terrain
from andrea.geometry.vectors.measure import tables as vectors
from andrea.geometry.walk.measure import tables as walk


def tables(geometry: Geometry) -> dict[str, pd.DataFrame]:
    """Frames by name of the table; empty ones are left out."""
    made: dict[str, Any] = {}
    for chapter in (vectors, heads, terrain, walk):
        made |= {name: pd.DataFrame(rows) for name, rows in chapter.tables(geometry).items()}
    return {name: frame for name, frame in made.items() if len(frame)}
