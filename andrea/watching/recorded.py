"""What the watch of a regime recorded: `watch.csv`, `alarms.csv` and `samples.jsonl`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from andrea.common import tables
from andrea.common.errors import UserError, line
from andrea.watching import alarms

READINGS, ALARMS, SAMPLES = "watch.csv", "alarms.csv", "samples.jsonl"
ALARMS_SHOWN = 5  # of a run under way

Record = dict[str, Any]


@dataclass(frozen=True)
class Recorded:
    """One regime, as records in the order of their steps."""

    # `step`, `gradient_outliers`, `gradient_z`, and by source `smoothed.<source>`, `probe.<source>`
    # and `gap.<source>` in nats per token; what was not known is None, or left out by `read`.
    readings: list[Record]
    alarms: list[Record]  # see `andrea.watching.alarms`
    samples: list[Record]  # `step`, `prompt`, `text`, `score`, `degenerate` and `original_score`

    def summary(self) -> Record:
        """Alarms by kind, gradient norms that stood out, and the share of degenerate samples."""
        kinds = Counter(alarm["kind"] for alarm in self.alarms)
        figures: Record = {
            "alarms": {kind: kinds[kind] for kind in ("cliff", "gap", "degenerate", "skipped")},
            "gradient_outliers": sum(row["gradient_outliers"] for row in self.readings),
        }
        if self.samples:
            bad = [sample["degenerate"] for sample in self.samples]
            figures["degenerate_share"] = sum(bad) / len(bad)
        return figures

    def latest(self) -> Record:
        """What people are shown of it."""
        last = self.samples[-1]["step"] if self.samples else None
        return {
            "alarms": self.alarms[-ALARMS_SHOWN:],
            "alarm_count": len(self.alarms),
            "reading": self.readings[-1] if self.readings else {},
            "samples": [sample for sample in self.samples if sample["step"] == last],
        }


def columns(sources: Sequence[str]) -> list[str]:
    """Names of the columns of `watch.csv`, in order."""
    by_source = [f"{name}.{s}" for name in ("smoothed", "probe", "gap") for s in sources]
    return ["step", "gradient_outliers", "gradient_z", *by_source]


def write(folder: Path, recorded: Recorded, sources: Sequence[str]) -> None:
    """Write the three files into `folder`."""
    tables.write(folder / READINGS, recorded.readings, columns(sources))
    rows = [alarms.to_fields(alarm) for alarm in recorded.alarms]
    tables.write(folder / ALARMS, rows, alarms.COLUMNS, quote=True)
    with (folder / SAMPLES).open("w", encoding="utf-8") as file:
        for sample in recorded.samples:
            file.write(json.dumps(sample, sort_keys=True, ensure_ascii=False) + "\n")


def read(folder: Path) -> Recorded:
    """Read the three files of a folder; one that is not there holds nothing.

    Raises:
        UserError: a file is damaged.
    """
    return Recorded(
        _records(folder / READINGS, tables.numbers),
        _records(folder / ALARMS, _alarms),
        _records(folder / SAMPLES, _samples),
    )


def _alarms(path: Path) -> list[Record]:
    rows = tables.read(path, text=True).to_dict("records")
    return [alarms.from_fields({str(name): field for name, field in row.items()}) for row in rows]


def _samples(path: Path) -> list[Record]:
    with path.open(encoding="utf-8", newline="") as file:
        return [json.loads(sample) for sample in file]


def _records(path: Path, parse: Callable[[Path], list[Any]]) -> list[Record]:
    if not path.is_file():
        return []
    try:
        return parse(path)
    except (ValueError, KeyError, TypeError) as error:
        reason = line(error, 200)
        raise UserError(f"{path}: damaged ({reason}); `dvc checkout` brings it back") from error
