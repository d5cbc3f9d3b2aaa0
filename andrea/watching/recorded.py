"""What the watch of a finished regime recorded, read from its files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from andrea.common import tables
from andrea.common.errors import UserError
from andrea.common.line import line
from andrea.watching import alarms

READINGS, ALARMS, SAMPLES = "watch.csv", "alarms.csv", "samples.jsonl"


@dataclass(frozen=True)
class Recorded:
    """One regime, as records in the order of their steps."""

    # `step`, `gradient_outliers`, `gradient_z`, and by source `smoothed.<source>`, `probe.<source>`
    # and `gap.<source>` in nats per token; what was not known is left out.
    readings: list[dict[str, float]]
    alarms: list[dict[str, Any]]  # see `andrea.watching.alarms`
    # `step`, `prompt`, `text`, `score`, `degenerate` and `original_score`.
    samples: list[dict[str, Any]]


def read(folder: Path) -> Recorded:
    """Read the three files of a folder; one that is not there holds nothing.

    Raises:
        UserError: a file is damaged.
    """
    return Recorded(
        _records(folder / READINGS, tables.numbers),
        _records(folder / ALARMS, _alarms),
        _records(folder / SAMPLES, _lines),
    )


def _alarms(path: Path) -> list[dict[str, Any]]:
    rows = tables.read(path, text=True).to_dict("records")
    return [alarms.from_fields({str(name): field for name, field in row.items()}) for row in rows]


def _lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [json.loads(sample) for sample in file]


def _records(path: Path, parse: Callable[[Path], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    try:
        return parse(path)
    except (ValueError, KeyError, TypeError) as error:
        reason = line(error, 200)
        raise UserError(f"{path}: damaged ({reason}); `dvc checkout` brings it back") from error
