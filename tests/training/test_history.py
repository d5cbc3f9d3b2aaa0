from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from andrea.common import tables
from andrea.mixture.curriculum import Phase
from andrea.mixture.sampler import Plan
from andrea.training import history
from andrea.training.records import FinishedPhase, StepStats
from tests.stored import stored

SOURCES = ["a", "b"]
STEP = StepStats(
    step=3,
    tokens=100,
    plan=Plan(np.zeros(2, int), np.arange(2), np.zeros(2, int)),
    row_nats=np.array([4.0, 4.0]),
    loss=4.0,
    loss_by_source=np.array([4.0, np.nan]),
    sequences=np.array([2, 0]),
    weights=(1.0, 0.0),
    kind="random",
    lr=0.1,
    grad_norm=2.0,
    skipped=False,
    finished=None,
)
OTHER = replace(
    STEP,
    step=4,
    loss=2.0,
    loss_by_source=np.array([1.0, 3.0]),
    sequences=np.array([1, 1]),
    weights=(0.5, 0.5),
    kind="bandit",
)


def window(*steps: StepStats) -> history.Row:
    """The row of some steps, by way of JSON after each."""
    gathered = history.Window.empty(2)
    for step in steps:
        gathered = stored(gathered.add(step), nan=True)
    return gathered.row(steps[-1], SOURCES, -1.0)


def test_a_row_is_the_mean_of_its_steps() -> None:
    row = window(STEP, OTHER)
    assert list(row) == history.columns(SOURCES)
    assert row["step"] == 4
    assert row["loss"] == 3.0
    assert row["loss.a"] == pytest.approx((2 * 4.0 + 1.0) / 3)
    assert row["loss.b"] == 3.0
    assert (row["weight.a"], row["weight.b"]) == (0.75, 0.25)
    assert row["random_phases"] == 0.5


def test_a_step_that_is_not_finite_is_left_out_of_the_mean(tmp_path: Path) -> None:
    broken = replace(STEP, loss=math.inf, grad_norm=math.nan)
    assert window(broken, OTHER)["loss"] == 2.0
    row = window(broken)
    history.write(tmp_path, [row], [], SOURCES)
    (read,) = tables.numbers(tmp_path / history.HISTORY)
    assert not {"loss", "grad_norm", "loss.b"} & read.keys()
    assert read["loss.a"] == 4.0


def test_phases_are_told_with_what_they_earned() -> None:
    phase = Phase("bandit", 7, 20, (0.25, 0.75))
    row = history.phase_row(
        FinishedPhase(phase, (None, 1.0), (0.5, -0.5), (None, 0.1), (10, 30)), SOURCES
    )
    assert list(row) == history.phase_columns(SOURCES)
    assert row["score.a"] is None
    assert row["noise.b"] == 0.1
    assert (row["score.b"], row["reward.b"], row["sequences.b"]) == (1.0, -0.5, 30)
