"""The state of a run in lines of text."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.errors import UserError
from andrea.tracking import health
from andrea.watching.coherence import DEGENERATE
from andrea.watching.recorded import Recorded

NOW = 1_000_000.0
SAMPLE = {
    "step": 2749, "prompt": "Once\n", "text": "upon a time " * 20, "score": 0.6543,
    "degenerate": True, "original_score": 41.25,
}  # fmt: skip
GAP = {"step": 2749, "kind": "gap", "source": "chat", "action": "report", "text": ""}
HALT = {
    "step": 2790,
    "kind": "degenerate",
    "source": "",
    "action": "halt",
    "text": "aa",
    "count": 5,
}
ROW = {
    "step": 2799.0, "loss": 3.5, "lr": 0.00231, "grad_norm": 0.41, "weight.irc": 0.2,
    "weight.chat": 0.7, "weight.docs": 0.1, "loss.irc": 3.25, "loss.chat": 3.75, "loss.docs": None,
}  # fmt: skip
READING = {
    "step": 2749, "gradient_outliers": 2, "gradient_z": 7.5, "smoothed.chat": 3.5,
    "probe.chat": 3.6, "gap.chat": 0.1, "smoothed.irc": None, "probe.irc": None, "gap.irc": None,
}  # fmt: skip
STATUS = {
    "regime": "firehose", "step": 2800, "end_step": 3153, "steps": 5600, "tokens": 2_867_200,
    "tokens_per_second": 16_000.0, "step_tokens": 1024, "row": ROW, "excluded": ["irc"],
    "skipped": 2, "process": 123, "time": NOW - 75,
    "watch": {
        "alarms": [GAP], "alarm_count": 9, "reading": READING, "samples": [SAMPLE] * 3,
        "degenerate_in_a_row": 3,
    },
}  # fmt: skip


def told(**changes: Any) -> list[str]:
    return health.lines(health.from_status({**STATUS, **changes}), NOW)


def watched(**changes: Any) -> list[str]:
    return told(watch={**STATUS["watch"], **changes})


def test_a_status_says_where_the_run_is() -> None:
    first, second, third = told()[:3]
    assert first.startswith("firehose, step 2,800 of 5,600 (50 %), firehose ends at 3,153")
    assert "2,867,200 tokens read" in first
    assert second == "rate 0.00231, gradient norm 0.41, 16,000 tokens/s, about 2 min 59 s left"
    assert third == "known 1 min 15 s ago"


def test_the_time_left_is_that_of_all_regimes() -> None:
    seconds = (5600 - 2800) * 1024 / 16_000
    assert health.from_status(STATUS).seconds_left == pytest.approx(seconds)
    assert told()[1].endswith(f", about {health.duration(seconds)} left")
    assert "left" not in "".join(told(tokens_per_second=None)[:3])


def test_sources_stand_in_columns_by_falling_weight() -> None:
    lines = told()
    top = next(number for number, line in enumerate(lines) if line.startswith("source"))
    assert lines[top].split() == ["source", *health.TABLE]
    assert [line.split() for line in lines[top + 1 : top + 4]] == [
        ["chat", "0.700", "3.750", "3.500", "3.600", "0.100"],
        ["irc", "0.200", "3.250", "-", "-", "-"],
        ["docs", "0.100", "-", "-", "-", "-"],
    ]
    assert lines[top + 4].split() == ["all", "sources", "3.500"]
    assert len({len(line) for line in lines[top : top + 4]}) == 1
    assert lines[top + 5] == "smoothed, probe and gap at step 2,749; nats per token"


def test_alarms_samples_and_the_rest() -> None:
    lines = told()
    assert "alarms in firehose: 9, the last 1:" in lines
    assert "  step 2749: the loss of chat falls in training but not on its probe" in lines
    (head,) = (line for line in lines if line.startswith("samples at step 2,749"))
    assert f"degenerate from {DEGENERATE:g}" in head
    samples = [line for line in lines if line.startswith("  0.65  41.2  'Once\\n' -> 'upon a")]
    assert len(samples) == 3
    assert "degenerate in a row: 3" in lines
    assert lines[-1] == (
        "excluded sources: irc; skipped steps: 2; gradient-norm outliers at the last reading: 2"
    )


def test_what_is_not_known_yet_is_said() -> None:
    lines = told(row={}, watch={**STATUS["watch"], "alarms": [], "reading": {}, "samples": []})
    assert "no row of the history yet" not in lines[0]
    assert "16,000 tokens/s" in lines[1]
    assert "alarms in firehose: none" in lines
    assert "samples: none yet" in lines
    assert not any(line.startswith("smoothed") for line in lines)


def test_the_alarm_that_halted() -> None:
    assert health.from_status(STATUS).halted_by is None
    assert health.from_status({**STATUS, "watch": {**STATUS["watch"], "alarms": [GAP, HALT]}}) \
        .halted_by == "degenerate"  # fmt: skip


def test_no_more_than_five_alarms() -> None:
    lines = watched(alarms=[{**GAP, "step": step} for step in range(9)])
    assert [line.split(":")[0] for line in lines if line.startswith("  step")] == [
        f"  step {step}" for step in range(4, 9)
    ]


def test_reports_say_what_a_regime_came_to() -> None:
    metrics = {"steps": 3153, "tokens": 3_228_672, "skipped_steps": 2, "excluded": ["irc"]}
    early = {**SAMPLE, "step": 2499}
    recorded = Recorded([{"step": 2499.0}, READING], [GAP, GAP], [early, SAMPLE])
    found = health.from_reports("firehose", metrics, [{}, ROW], recorded, NOW - 75)
    lines = health.lines(found, NOW)
    assert lines[0] == "firehose, step 3,153, 3,228,672 tokens read"
    assert lines[1] == "rate 0.00231, gradient norm 0.41"
    same = told()
    table = slice(same.index(""), same.index("alarms in firehose: 9, the last 1:"))
    assert lines[table] == same[table]
    assert "alarms in firehose: 2:" in lines
    assert sum("'Once" in line for line in lines) == 1
    assert lines[-1] == same[-1]


def test_reports_of_a_regime_without_steps() -> None:
    metrics = {"steps": 560, "tokens": 573_440, "skipped_steps": 0}
    lines = health.lines(health.from_reports("polish", metrics, [], Recorded([], [], []), NOW), NOW)
    assert lines[0] == "polish, step 560, 573,440 tokens read"
    assert lines[1] == "no row of the history yet"
    assert lines[-1] == "excluded sources: none; skipped steps: 0"


@given(
    st.text(max_size=300), st.text(max_size=300), st.floats(0, 1e9), st.floats(0.01, 1e9),
    st.text("abc-", min_size=1, max_size=24),
)  # fmt: skip
def test_lines_fit_a_terminal(prompt: str, text: str, age: float, pace: float, source: str) -> None:
    status = copy.deepcopy(STATUS)
    status |= {"time": NOW - age, "tokens_per_second": pace}
    status["row"] |= {f"weight.{source}": 0.5, f"loss.{source}": 1e3}
    status["watch"] |= {
        "samples": [{**SAMPLE, "prompt": prompt, "text": text}],
        "alarms": [{**HALT, "text": text}],
    }
    for line in health.lines(health.from_status(status), NOW):
        assert len(line) <= 100
        assert len(line.splitlines()) <= 1


def damaged() -> list[Any]:
    found: list[Any] = [None, [], 3, {}]
    found += [{k: v for k, v in STATUS.items() if k != key} for key in STATUS if key != "process"]
    found += [{**STATUS, "step": "x"}, {**STATUS, "row": {"loss": "x"}}, {**STATUS, "row": None}]
    watch = STATUS["watch"]
    found += [
        {**STATUS, "watch": {**watch, **wrong}}
        for wrong in (
            {"alarms": [{}]}, {"alarms": [3]}, {"samples": [{}]}, {"samples": None},
            {"alarms": [{**GAP, "kind": "cliff"}]}, {"reading": 3}, {"alarm_count": None},
        )
    ]  # fmt: skip
    return found


@pytest.mark.parametrize("status", damaged())
def test_what_is_no_status_is_refused_in_one_line(status: Any) -> None:
    with pytest.raises(UserError) as caught:
        health.from_status(status)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-3, "0 s"), (0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"),
        (3600, "1 h 0 min"), (86_399, "23 h 59 min"), (23.5 * 86_400, "23 d 12 h"),
    ],
)  # fmt: skip
def test_spans_of_time(seconds: float, expected: str) -> None:
    assert health.duration(seconds) == expected


def test_cut() -> None:
    assert health.cut("x" * 100) == "x" * 100
    assert health.cut("x" * 101) == "x" * 99 + "…"


def test_a_loss_that_is_not_finite_is_a_dash() -> None:
    lines = told(row={**ROW, "loss": math.nan})
    assert next(line for line in lines if line.startswith("all sources")).split()[-1] == "-"
