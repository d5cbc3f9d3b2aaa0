"""The geometry of a run as tables: one list of rows per CSV file, ready to be plotted."""

from __future__ import annotations

from andrea.report.geometry import Geometry
from andrea.report.tables import heads, terrain, vectors, walk
from andrea.report.tables.row import Row


def tables(found: Geometry) -> dict[str, list[Row]]:
    """Rows by name of the table, all with the columns of the first; empty tables are left out."""
    made = {
        name: list(rows)
        for part in (vectors, heads, terrain, walk)
        for name, rows in part.tables(found).items()
    }
    return {name: rows for name, rows in made.items() if rows}
