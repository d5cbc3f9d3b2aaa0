"""What the watch saw: written, read again, and told."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.errors import UserError
from andrea.training.watch import WatchState, init
from andrea.watching import alarms, recorded
from andrea.watching.recorded import Recorded

SOURCES = ["a", "b"]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
MAYBE = st.none() | FINITE


def record(kind: str, **more: Any) -> dict[str, Any]:
    return {"step": 9, "kind": kind, "source": "", "action": "report", "text": "", **more}


CLIFFS = st.fixed_dictionaries(
    {
        "step": st.integers(0, 200_000), "kind": st.just("cliff"), "source": st.sampled_from("ab"),
        "action": st.sampled_from(["report", "exclude", "halt"]), "text": TEXT,
        "shard": st.just("data/shards/a/train.bin"),
        "positions": st.lists(st.integers(0, 1 << 40), min_size=1, max_size=4),
        "nats": FINITE, "median": FINITE, "z": FINITE, "drop": FINITE, "probe_nats": MAYBE,
        "repeats": st.integers(0, 99),
    }
)  # fmt: skip
OTHERS = st.sampled_from(
    [
        record("gap", source="b", drop=0.25),
        record("degenerate", action="halt", text="a, a,\r\n'a'", count=5),
        record("degenerate", text="a\rb", count=5),
        record("skipped", action="weights left as they were"),
    ]
)
READINGS = st.fixed_dictionaries(
    {
        "step": st.integers(0, 200_000), "gradient_outliers": st.integers(0, 99),
        "gradient_z": MAYBE, **dict.fromkeys(recorded.columns(SOURCES)[3:], MAYBE),
    }
)  # fmt: skip
SAMPLES = st.fixed_dictionaries(
    {
        "step": st.integers(0, 200_000), "prompt": TEXT, "text": TEXT, "score": FINITE,
        "degenerate": st.booleans(), "original_score": FINITE,
    }
)  # fmt: skip


def known(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


@given(
    st.lists(READINGS, max_size=3), st.lists(CLIFFS | OTHERS, max_size=3),
    st.lists(SAMPLES, max_size=3),
)  # fmt: skip
def test_files_say_all_that_was_seen(
    readings: list[dict[str, Any]], told: list[dict[str, Any]], samples: list[dict[str, Any]]
) -> None:
    with TemporaryDirectory() as folder:
        recorded.write(Path(folder), Recorded(readings, told, samples), SOURCES)
        found = recorded.read(Path(folder))
    assert found.readings == list(map(known, readings))
    assert found.samples == samples
    assert [known({"shard": "", **alarm}) for alarm in told] == found.alarms
    assert list(map(alarms.describe, found.alarms)) == list(map(alarms.describe, told))


def test_columns_of_alarms(tmp_path: Path) -> None:
    told = [record("gap", source="b", drop=0.25)]
    recorded.write(tmp_path, Recorded([], told, []), SOURCES)
    with (tmp_path / "alarms.csv").open(newline="") as file:
        assert next(csv.reader(file)) == list(alarms.COLUMNS)


def test_folders_without_a_watch_hold_nothing(tmp_path: Path) -> None:
    assert recorded.read(tmp_path) == Recorded([], [], [])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("watch.csv", b"step,smoothed.a\n1,x\n"),
        ("watch.csv", b"step\n\xff\n"),
        ("alarms.csv", b"step,kind\n1,gap\n"),
        ("samples.jsonl", b'{"step": 1\n'),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=rf"{name}: damaged") as caught:
        recorded.read(tmp_path)
    assert "\n" not in str(caught.value)


def test_every_kind_of_alarm_reads_as_one_line() -> None:
    cliff = record(
        "cliff", source="a", shard="data/shards/a/train.bin", positions=[7, 8], nats=0.5,
        median=3.0, z=8.25, drop=2.5, repeats=4, text="x\n" * 400,
    )  # fmt: skip
    line = alarms.describe(cliff)
    for part in ("step 9", "cliff in a", "0.50", "3.00", "z 8.2", "4 documents", "sequence 7"):
        assert part in line
    assert line.endswith("; report")
    assert len(line) < 400
    others = [record("gap", source="b"), record("degenerate", count=5), record("skipped")]
    starts = ["the loss of b falls", "5 degenerate samples", "loss or gradient not finite"]
    for told, start in zip(others, starts, strict=True):
        assert alarms.describe(told).startswith(f"step 9: {start}")
        assert "\n" not in alarms.describe(told)


def test_a_summary_counts_by_kind() -> None:
    told = [record("gap", source="b"), record("cliff"), record("gap", source="a")]
    seen = [{"step": s, "degenerate": s > 5} for s in range(8)]
    assert Recorded([{"gradient_outliers": 2}] * 2, told, seen).summary() == {
        "alarms": {"cliff": 1, "gap": 2, "degenerate": 0, "skipped": 0},
        "gradient_outliers": 4,
        "degenerate_share": 0.25,
    }


def test_the_latest_is_what_belongs_to_the_last_step_and_plain_json() -> None:
    told = [record("gap", source="b", number=n) for n in range(9)]
    seen = [{"step": step, "prompt": prompt} for step in (9, 19) for prompt in "xyz"]
    state = WatchState(
        init(2).cliffs, degenerate=2, alarms=told, samples=seen, readings=[{"step": 19}]
    )
    found = json.loads(json.dumps(state.latest()))
    assert found == {
        "alarms": told[-5:],
        "alarm_count": 9,
        "reading": {"step": 19},
        "samples": seen[3:],
        "degenerate_in_a_row": 2,
    }
    assert init(2).latest()["samples"] == []
