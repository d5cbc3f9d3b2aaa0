"""Alarms as records: what the columns of `alarms.csv` are, and how an alarm reads in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Alarm = Mapping[str, Any]

COLUMNS = (
    "step", "kind", "source", "action", "shard", "positions", "nats", "median", "z", "drop",
    "probe_nats", "repeats", "count", "text",
)  # fmt: skip
WHOLE = {"step", "repeats", "count"}
WORDS = {"kind", "source", "action", "shard", "text"}


def describe(alarm: Alarm) -> str:
    """An alarm in one line."""
    where = f"step {alarm['step']}: "
    source, text = alarm["source"], f"{alarm['text']!r:.120}"
    if alarm["kind"] == "cliff":
        return (
            f"{where}cliff in {source}: a sequence at {alarm['nats']:.2f} nats per token, the"
            f" source's median is {alarm['median']:.2f} (z {alarm['z']:.1f}); its text stands"
            f" in {alarm['repeats']} documents of {alarm['shard']}, here at sequence"
            f" {alarm['positions'][0]}: {text}; {alarm['action']}"
        )
    if alarm["kind"] == "degenerate":
        return f"{where}{alarm['count']} degenerate samples in a row, such as {text}"
    if alarm["kind"] == "gap":
        return f"{where}the loss of {source} falls in training but not on its probe"
    return f"{where}loss or gradient not finite; {alarm['action']}"


def to_fields(alarm: Alarm) -> dict[str, Any]:
    """The row of `alarms.csv` in which an alarm stands."""
    places = {"positions": " ".join(map(str, alarm["positions"]))} if "positions" in alarm else {}
    return {**alarm, **places}


def from_fields(fields: Mapping[str, str]) -> dict[str, Any]:
    """The alarm that stands in one row of `alarms.csv`; empty fields are left out but for words.

    Raises:
        ValueError, KeyError: the row is not one that the watch wrote.
    """
    return {name: _value(name, fields[name]) for name in COLUMNS if fields[name] or name in WORDS}


def _value(name: str, field: str) -> Any:
    if name in WORDS:
        return field
    if name == "positions":
        return [int(place) for place in field.split()]
    return int(field) if name in WHOLE else float(field)
