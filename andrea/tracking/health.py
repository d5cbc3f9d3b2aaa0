"""The state of a run as people read it, from its status or from a finished regime's reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from andrea.common.errors import UserError
from andrea.shell.columns import aligned
from andrea.watching import alarms, coherence, original
from andrea.watching.recorded import ALARMS_SHOWN, Recorded

COLUMNS = 100  # of a terminal; what is longer is cut
SAMPLES = 3  # told
TABLE = ("weight", "loss", "smoothed", "probe", "gap")

Row = Mapping[str, float | None]


@dataclass(frozen=True)
class Health:
    """Where a run stands."""

    regime: str
    step: int  # steps done, over all regimes
    end_step: int | None  # after which the regime ends; None where not known
    steps: int | None  # of all regimes; None where not known
    tokens: int  # read, over all regimes
    tokens_per_second: float | None  # lately; None where not known
    seconds_left: float | None  # to the end of the last regime at that pace; None where not known
    row: Row  # the last of the history
    reading: Row  # the last of the watch; empty before the first
    alarm_count: int  # of this regime
    alarms: tuple[str, ...]  # the last of these, one line each
    halted_by: str | None  # kind of the last alarm where that stopped the run, else None
    samples: tuple[Mapping[str, Any], ...]  # the last ones
    degenerate_in_a_row: int | None  # up to the last sample; None where not known
    excluded: tuple[str, ...]  # sources that an alarm took out
    skipped: int  # steps whose loss or gradient was not finite
    time: float  # of this knowledge, seconds since 1970


@contextmanager
def _explained() -> Iterator[None]:
    """What is wrong in a note, as a user's mistake."""
    try:
        yield
    except KeyError as error:
        raise UserError(f"without {error}") from error
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise UserError(f"not what a regime writes ({error})") from error


@_explained()
def from_status(status: Mapping[str, Any]) -> Health:
    """What a regime under way has put down.

    Raises:
        UserError: `status` is not such a note; says what is wrong in it.
    """
    watch, pace = status["watch"], status["tokens_per_second"]
    left = (status["steps"] - status["step"]) * status["step_tokens"]
    latest = watch["alarms"][-ALARMS_SHOWN:]
    return Health(
        regime=str(status["regime"]),
        step=int(status["step"]),
        end_step=int(status["end_step"]),
        steps=int(status["steps"]),
        tokens=int(status["tokens"]),
        tokens_per_second=pace,
        seconds_left=left / pace if pace else None,
        row=_row(status["row"]),
        reading=_row(watch["reading"]),
        alarm_count=int(watch["alarm_count"]),
        alarms=tuple(map(alarms.describe, latest)),
        halted_by=str(latest[-1]["kind"]) if latest and latest[-1]["action"] == "halt" else None,
        samples=tuple(map(_sample, watch["samples"])),
        degenerate_in_a_row=int(watch["degenerate_in_a_row"]),
        excluded=tuple(map(str, status["excluded"])),
        skipped=int(status["skipped"]),
        time=float(status["time"]),
    )


@_explained()
def from_reports(
    regime: str, metrics: Mapping[str, Any], history: Sequence[Row], recorded: Recorded, time: float
) -> Health:
    """What a finished regime has come to, from `metrics.json`, `history.csv` and its watch's files.

    Args:
        time: when it was written, seconds since 1970.

    Raises:
        UserError: they are not such reports; says what is wrong in them.
    """
    status = {
        "regime": regime,
        "step": metrics["steps"],
        "end_step": metrics["steps"],
        "steps": metrics["steps"],
        "tokens": metrics["tokens"],
        "tokens_per_second": None,
        "step_tokens": 0,
        "row": history[-1] if history else {},
        "watch": {**recorded.latest(), "degenerate_in_a_row": 0},
        "excluded": metrics.get("excluded", ()),
        "skipped": metrics["skipped_steps"],
        "time": time,
    }
    return replace(from_status(status), steps=None, halted_by=None, degenerate_in_a_row=None)


def lines(health: Health, now: float) -> list[str]:
    """The state of a run, in lines of at most `COLUMNS` characters.

    Args:
        now: seconds since 1970.
    """
    shown = [
        _where(health),
        _pace(health),
        f"known {duration(now - health.time)} ago",
        "",
        *_table(health),
        "",
        *_alarms(health),
        *_samples(health),
        _rest(health),
    ]
    return [cut(line) for line in shown]


def duration(seconds: float) -> str:
    """A span of time in its two largest units."""
    whole = max(0, round(seconds))
    for unit, name, part, part_name in ((86400, "d", 3600, "h"), (3600, "h", 60, "min")):
        if whole >= unit:
            return f"{whole // unit} {name} {whole % unit // part} {part_name}"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"


def cut(line: str) -> str:
    """A line that fits a terminal."""
    return line if len(line) <= COLUMNS else line[: COLUMNS - 1] + "…"


def _row(row: Row) -> Row:
    return {name: None if value is None else float(value) for name, value in row.items()}


def _sample(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "step": int(sample["step"]),
        "prompt": str(sample["prompt"]),
        "text": str(sample["text"]),
        "score": float(sample["score"]),
        "original_score": float(sample["original_score"]),
    }


def _where(health: Health) -> str:
    parts = [f"{health.regime}, step {health.step:,}"]
    if health.steps:
        parts[0] += f" of {health.steps:,} ({100 * health.step / health.steps:.0f} %)"
    if health.end_step and health.step < health.end_step:
        parts.append(f"{health.regime} ends at {health.end_step:,}")
    parts.append(f"{health.tokens:,} tokens read")
    return ", ".join(parts)


def _pace(health: Health) -> str:
    lr, norm = health.row.get("lr"), health.row.get("grad_norm")
    parts = []
    if lr is not None:
        parts.append(f"rate {lr:.3g}")
    if norm is not None:
        parts.append(f"gradient norm {norm:.3g}")
    if health.tokens_per_second:
        parts.append(f"{health.tokens_per_second:,.0f} tokens/s")
    if health.seconds_left:
        parts.append(f"about {duration(health.seconds_left)} left")
    return ", ".join(parts) or "no row of the history yet"


def _table(health: Health) -> list[str]:
    """Sources by falling weight; nats per token."""
    row, reading = health.row, health.reading
    names = [name.removeprefix("weight.") for name in row if name.startswith("weight.")]
    names.sort(key=lambda name: (-(row[f"weight.{name}"] or 0.0), name))
    rows = [["source", *TABLE]]
    for name in names:
        values = [row.get(f"{column}.{name}", reading.get(f"{column}.{name}")) for column in TABLE]
        rows.append([name, *map(_cell, values)])
    if row:
        rows.append(["all sources", "", _cell(row.get("loss")), *[""] * (len(TABLE) - 2)])
    table = aligned(rows)
    if reading:
        step = reading.get("step") or 0
        table.append(f"smoothed, probe and gap at step {step:,.0f}; nats per token")
    return table


def _cell(value: float | None) -> str:
    return f"{value:.3f}" if value is not None and math.isfinite(value) else "-"


def _alarms(health: Health) -> list[str]:
    if not health.alarms:
        return [f"alarms in {health.regime}: none"]
    last = f", the last {len(health.alarms)}" if health.alarm_count > len(health.alarms) else ""
    return [
        f"alarms in {health.regime}: {health.alarm_count}{last}:",
        *(f"  {line}" for line in health.alarms),
    ]


def _samples(health: Health) -> list[str]:
    if not health.samples:
        return ["samples: none yet"]
    shown = [
        f"samples at step {health.samples[0]['step']:,}: score, degenerate from"
        f" {coherence.DEGENERATE:g}; the original's points of 100, bad below {original.BAD:g}"
    ]
    rows = [
        (f"{s['score']:.2f}", f"{s['original_score']:.1f}", f"{s['prompt']!r} -> {s['text']!r}")
        for s in health.samples[:SAMPLES]
    ]
    shown += [f"  {line}" for line in aligned(rows, ">><")]
    if health.degenerate_in_a_row:
        shown.append(f"degenerate in a row: {health.degenerate_in_a_row}")
    return shown


def _rest(health: Health) -> str:
    outliers = health.reading.get("gradient_outliers")
    since = f"; gradient-norm outliers at the last reading: {outliers:.0f}" if outliers else ""
    excluded = ", ".join(health.excluded) or "none"
    return f"excluded sources: {excluded}; skipped steps: {health.skipped}{since}"
