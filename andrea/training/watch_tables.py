"""What the watch recorded, as files: `watch.csv`, `alarms.csv` and `samples.jsonl`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from andrea.common import tables
from andrea.training.watch import WatchState
from andrea.watching import alarms
from andrea.watching.recorded import ALARMS, READINGS, SAMPLES

ALARMS_SHOWN = 5  # that the status of a run under way holds


def columns(sources: Sequence[str]) -> list[str]:
    """Names of the columns of `watch.csv`, in order."""
    by_source = [f"{name}.{s}" for name in ("smoothed", "probe", "gap") for s in sources]
    return ["step", "gradient_outliers", "gradient_z", *by_source]


def write(folder: Path, state: WatchState, sources: Sequence[str]) -> None:
    """Write the three files of one regime into `folder`; `andrea.watching.recorded` reads them."""
    tables.write(folder / READINGS, state.readings, columns(sources))
    rows = [{name: _field(value) for name, value in alarm.items()} for alarm in state.alarms]
    tables.write(folder / ALARMS, rows, alarms.COLUMNS, quote=True)
    with (folder / SAMPLES).open("w", encoding="utf-8") as file:
        for sample in state.samples:
            file.write(json.dumps(sample, sort_keys=True, ensure_ascii=False) + "\n")


def summary(state: WatchState) -> dict[str, Any]:
    """Alarms by kind, degenerate samples, and the last scores, of one regime."""
    kinds = Counter(alarm["kind"] for alarm in state.alarms)
    figures: dict[str, Any] = {
        "alarms": {kind: kinds[kind] for kind in ("cliff", "gap", "degenerate", "skipped")},
        "gradient_outliers": sum(row["gradient_outliers"] for row in state.readings),
    }
    if state.samples:
        bad = [sample["degenerate"] for sample in state.samples]
        figures["degenerate_share"] = sum(bad) / len(bad)
    return figures


def latest(state: WatchState) -> Mapping[str, Any]:
    """What `andrea health` shows of a run under way."""
    last = state.samples[-1]["step"] if state.samples else None
    return {
        "alarms": state.alarms[-ALARMS_SHOWN:],
        "alarm_count": len(state.alarms),
        "reading": state.readings[-1] if state.readings else {},
        "samples": [sample for sample in state.samples if sample["step"] == last],
        "degenerate_in_a_row": state.degenerate,
    }


def _field(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else value
