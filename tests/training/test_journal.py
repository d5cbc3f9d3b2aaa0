from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from andrea.mixture.curriculum import Phase
from andrea.mixture.sampler import Plan
from andrea.training import watch
from andrea.training.history import Window, columns, write_csv
from andrea.training.journal import Journal
from andrea.training.records import FinishedPhase, StepStats

SOURCES = ("chat", "irc")


def stats(step: int, loss: float) -> StepStats:
    """A step of two rows of the first source; the second is not seen."""
    ids = np.zeros(2, dtype=np.int64)
    phase = Phase("bandit", 0, 4, (0.75, 0.25))
    return StepStats(
        step=step, tokens=16 * step, plan=Plan(ids, ids, ids), row_nats=np.array([loss, loss]),
        loss=loss, loss_by_source=np.array([loss, math.nan]), sequences=np.array([2, 0]),
        weights=phase.weights, kind=phase.kind, rate=0.1, gradient_norm=1 / 3, skipped=False,
        finished=FinishedPhase(phase, (1 / 3, None), (0.1, 0.0), (None, 2 / 3), (8, 0))
        if step % 4 == 3 else None,
    )  # fmt: skip


def observe(journal: Journal, step: int, loss: float) -> None:
    told = stats(step, loss)
    journal.window = journal.window.add(told)
    if told.finished:
        journal.phases.append(told.finished)
    if step % 3 == 2:
        journal.rows.append(journal.window.row(told, SOURCES, -1.5))
        journal.window = Window.empty(2)


def reloaded(journal: Journal) -> Journal:
    return Journal.from_json(json.loads(json.dumps(journal.to_json(), allow_nan=False)))


def test_interrupted_after_any_step_it_tells_the_same(tmp_path: Path) -> None:
    losses = [1 / 3, 10.0, 1e-300, math.nan, math.nan, math.nan, 2.5, math.inf, 0.1, 7.0]
    whole = Journal(watch.init(2), Window.empty(2))
    broken = Journal(watch.init(2), Window.empty(2))
    for step, loss in enumerate(losses):
        for journal in (whole, broken):
            observe(journal, step, loss)
        broken = reloaded(broken)
        assert broken.to_json() == whole.to_json()
    for name, journal in (("whole", whole), ("broken", broken)):
        write_csv(tmp_path / name, journal.rows, columns(SOURCES))
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "broken").read_bytes()
    assert math.isnan(broken.rows[1]["loss"])
    assert len(broken.rows) == 3
    assert broken.phases == whole.phases


def test_what_the_watch_saw_and_the_sound_checkpoint_stay() -> None:
    journal = Journal(watch.init(2), Window.empty(2), sound="step-5")
    journal.watch.alarms.append({"step": 3, "kind": "skipped", "source": "", "action": "report"})
    journal.watch.degenerate = 2
    again = reloaded(journal)
    assert again.watch.alarms == journal.watch.alarms
    assert (again.watch.degenerate, again.sound) == (2, "step-5")
