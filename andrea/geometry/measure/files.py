"""The folder that the stage `geometry` writes, and how to read one back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from andrea.common.codec import decode, encode
from andrea.common.errors import UserError
from andrea.common.files import write_json
from andrea.common.tables import write as write_table
from andrea.geometry.measure.metrics import metrics
from andrea.geometry.measure.result import Geometry
from andrea.geometry.measure.tables import tables

FILE = "geometry.json"
METRICS = "metrics.json"
DIGITS = 6  # that floats keep


def write(folder: Path, geometry: Geometry) -> None:
    """Write metrics, tables, and everything in one file.

    Args:
        geometry: whose floats were rounded by `rounded`.
    """
    write_json(folder / METRICS, metrics(geometry))
    for name, frame in tables(geometry).items():
        write_table(folder / f"{name}.csv", frame, digits=DIGITS)
    (folder / FILE).write_text(to_text(geometry), encoding="utf-8")


def rounded(geometry: Geometry) -> Geometry:
    """As the file gives it back: a comparison of two files shows what their pages showed."""
    return _decoded(encode(geometry, DIGITS))


def to_text(geometry: Geometry) -> str:
    """Compact JSON that `from_text` reads."""
    value = encode(geometry, DIGITS)
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text + "\n"


def from_text(text: str, name: str) -> Geometry:
    """What `to_text` wrote.

    Raises:
        UserError: it is no such file, or was written by other code.
    """
    try:
        return _decoded(json.loads(text))
    except (UserError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(
            f"{name}: not a geometry of this code ({reason}); `dvc repro geometry` makes it,"
            " or the experiment run again"
        ) from error


def _decoded(value: Any) -> Geometry:
    geometry: Geometry = decode(value, Geometry, "geometry", nan=True)
    return geometry
