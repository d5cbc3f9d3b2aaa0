"""What the watch saw, as figures for MLflow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.config import tree
from andrea.tracking import watched
from andrea.watching.alarms import describe
from andrea.watching.recorded import Recorded

CONFIG = tree.load(Path(__file__).parents[2] / "params.yaml")
EVERY = 5


def alarm(step: int, kind: str = "gap") -> dict[str, Any]:
    return {"step": step, "kind": kind, "source": "a", "action": "report", "text": "", "count": 5}


def regime(steps: list[int], alarm_steps: list[int]) -> Recorded:
    """Readings and two samples at every step of `steps`."""
    return Recorded(
        [{"step": s, "gradient_outliers": 1, "smoothed.a": s / 3, "gap.a": None} for s in steps],
        [alarm(step) for step in alarm_steps],
        [
            {"step": s, "score": score, "original_score": 10 * score, "degenerate": score > 1}
            for s in steps
            for score in (s, 2.0)
        ],
    )


READINGS = st.integers(0, 20).map(lambda n: [EVERY * i - 1 for i in range(1, n + 1)])
ALARMS = st.lists(st.integers(0, 110), max_size=30).map(sorted)


@given(READINGS, ALARMS, st.integers(1, 4))
def test_every_alarm_and_every_reading_that_is_shown(
    steps: list[int], alarm_steps: list[int], thinned: int
) -> None:
    apart = thinned * EVERY
    found = {row["step"]: row for row in watched.rows(regime(steps, alarm_steps), apart)}
    shown = {step for step in steps if (step + 1) % apart == 0}
    assert found.keys() == shown | set(alarm_steps)
    assert list(found) == sorted(found)
    for step, row in found.items():
        assert row["alarms"] == sum(other <= step for other in alarm_steps)
        if step in shown:
            assert row["smoothed.a"] == step / 3
            assert row["sample_score"] == pytest.approx((step + 2) / 2)
            assert row["sample_original_score"] == pytest.approx(5 * (step + 2))
            assert row["degenerate_share"] == (1.0 if step > 1 else 0.5)
        else:
            assert row.keys() == {"step", "alarms"}
        assert "gap.a" not in row


@given(READINGS, ALARMS, st.integers(1, 4))
def test_told_step_by_step_it_is_the_same(
    steps: list[int], alarm_steps: list[int], thinned: int
) -> None:
    apart = thinned * EVERY
    told = [
        row
        for now in range(111)
        for row in watched.rows(
            regime([s for s in steps if s <= now], [s for s in alarm_steps if s <= now]),
            apart,
            now,
        )
    ]
    assert told == watched.rows(regime(steps, alarm_steps), apart)


def test_alarms_without_end_do_not_flood_the_run() -> None:
    seen = regime([EVERY * 200 - 1], list(range(1000)))
    found = watched.rows(seen, EVERY)
    assert len(found) == watched.ALARMS_SHOWN + 1
    assert found[-1]["alarms"] == 1000


@pytest.mark.parametrize("scale", CONFIG.scales)
def test_no_scale_shows_more_than_ten_thousand_figures(scale: str) -> None:
    config = replace(CONFIG, scale_name=scale)
    apart, every = watched.steps_apart(config), config.watch.sample_every
    assert apart % every == 0
    shown = config.scale.steps // apart
    assert shown <= watched.READINGS_SHOWN
    assert shown * (6 + 3 * len(config.sources)) < 10_000 / 3
    assert shown > 15 or apart == every


def test_tags_count_by_kind_and_tell_the_last() -> None:
    told = [alarm(3), alarm(4, "degenerate"), alarm(5), alarm(9, "degenerate"), alarm(10)]
    assert watched.tags(told) == {
        "alarms": "5",
        "alarm.kinds": "degenerate 2, gap 3",
        "alarm.last": describe(told[-1]),
    }
    assert watched.tags([]) == {"alarms": "0"}
