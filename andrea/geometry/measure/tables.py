"""The geometry of a run as tables, one per CSV file, ready to be plotted."""

from __future__ import annotations

from pandas import DataFrame

from andrea.geometry.heads.measure import tables as heads
from andrea.geometry.measure.result import Geometry
from andrea.geometry.terrain.measure import tables as terrain
from andrea.geometry.vectors.measure import tables as vectors
from andrea.geometry.walk.measure import tables as walk


def tables(geometry: Geometry) -> dict[str, DataFrame]:
    """Frames by name of the table; empty ones are left out."""
    return {
        name: frame.reset_index(drop=True)
        for chapter in (vectors, heads, terrain, walk)
        for name, frame in chapter.tables(geometry).items()
        if len(frame)
    }
