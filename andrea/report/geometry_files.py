"""The folder of reports that the stage `geometry` writes, and how to read one back."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from andrea.common.errors import UserError
from andrea.common.files import write_json
from andrea.report import exact, page
from andrea.report.geometry import Geometry
from andrea.report.geometry_metrics import metrics
from andrea.report.geometry_tables import tables
from andrea.report.tables.row import Row

FILE = "geometry.json"
METRICS = "metrics.json"
PAGE = "report.html"


def write(folder: Path, found: Geometry) -> None:
    """Write metrics, tables, everything in one file, and the page.

    Args:
        folder: an empty one.
        found: whose floats were rounded by `exact`.
    """
    write_json(folder / METRICS, metrics(found))
    for name, rows in tables(found).items():
        _write_table(folder / f"{name}.csv", rows)
    (folder / FILE).write_text(to_text(found), encoding="utf-8")
    (folder / PAGE).write_text(page.html(found), encoding="utf-8")


def to_text(found: Geometry) -> str:
    """Compact JSON that `from_text` reads."""
    value = exact.encode(found)
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text + "\n"


def from_text(text: str, name: str) -> Geometry:
    """What `to_text` wrote.

    Args:
        text: of the file.
        name: of the file, for errors.

    Raises:
        UserError: it is no such file, or was written by other code.
    """
    try:
        return exact.decode(json.loads(text), Geometry)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(
            f"{name}: not a geometry of this code ({reason}); `dvc repro geometry` makes it,"
            " or the experiment run again"
        ) from error


def _write_table(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _field(value) for key, value in row.items()} for row in rows)


def _field(value: Any) -> Any:
    """A field; what is not known is empty."""
    if isinstance(value, float):
        return f"{value:.{exact.DIGITS}g}" if math.isfinite(value) else ""
    return value
