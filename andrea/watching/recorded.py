"""What the watch of a finished regime saw, read from its files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from andrea.common.errors import UserError
from andrea.watching import alarms

READINGS, ALARMS, SAMPLES = "watch.csv", "alarms.csv", "samples.jsonl"


@dataclass(frozen=True)
class Recorded:
    """One regime, as records in the order of their steps.

    Attributes:
        readings: `step`, `gradient_outliers`, `gradient_z`, and by source `smoothed.<source>`,
            `probe.<source>` and `gap.<source>` in nats per token; what was not known is left out.
        alarms: see `andrea.watching.alarms`.
        samples: `step`, `prompt`, `text`, `score`, `degenerate` and `original_score`.
    """

    readings: list[dict[str, float]]
    alarms: list[dict[str, Any]]
    samples: list[dict[str, Any]]


def read(folder: Path) -> Recorded:
    """Read the three files of a folder; one that is not there holds nothing.

    Raises:
        UserError: a file is damaged.
    """
    return Recorded(
        _records(folder / READINGS, _numbers),
        _records(folder / ALARMS, lambda file: map(alarms.from_fields, csv.DictReader(file))),
        _records(folder / SAMPLES, lambda file: map(json.loads, file)),
    )


def _numbers(file: TextIO) -> list[dict[str, float]]:
    return [
        {name: float(field) for name, field in fields.items() if field}
        for fields in csv.DictReader(file)
    ]


def _records(path: Path, parse: Callable[[TextIO], Any]) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(parse(file))
    except (ValueError, KeyError, TypeError, csv.Error) as error:
        raise UserError(f"{path}: damaged ({error}); `dvc checkout` brings it back") from error
