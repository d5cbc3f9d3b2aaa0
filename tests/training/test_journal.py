from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from andrea.common.codec import decode, encode
from andrea.common.errors import UserError
from andrea.mixture.curriculum import Phase
from andrea.mixture.sampler import Plan
from andrea.scratch import folder, resume
from andrea.scratch.folder import Scratch
from andrea.training import checkpoint, history, watch
from andrea.training import journal as journals
from andrea.training.history import Window
from andrea.training.journal import Journal
from andrea.training.records import FinishedPhase, StepStats
from andrea.training.run import Run
from andrea.training.state import TrainState
from tests.runs import new
from tests.stored import stored

SOURCES = ("chat", "irc")
INPUTS = {"seed": 5, "scale.d_model": 16}


def stats(step: int, loss: float) -> StepStats:
    """A step of two rows of the first source; the second is not seen."""
    ids = np.zeros(2, dtype=np.int64)
    phase = Phase("bandit", 0, 4, (0.75, 0.25))
    return StepStats(
        step=step, tokens=16 * step, plan=Plan(ids, ids, ids), row_nats=np.array([loss, loss]),
        loss=loss, loss_by_source=np.array([loss, math.nan]), sequences=np.array([2, 0]),
        weights=phase.weights, kind=phase.kind, lr=0.1, grad_norm=1 / 3, skipped=False,
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
    return stored(journal, nan=True)


def test_interrupted_after_any_step_it_tells_the_same(tmp_path: Path) -> None:
    losses = [1 / 3, 10.0, 1e-300, math.nan, math.nan, math.nan, 2.5, math.inf, 0.1, 7.0]
    whole = Journal(watch.init(2), Window.empty(2))
    broken = Journal(watch.init(2), Window.empty(2))
    for step, loss in enumerate(losses):
        for journal in (whole, broken):
            observe(journal, step, loss)
        broken = reloaded(broken)
        assert encode(broken) == encode(whole)
    for name, journal in (("whole", whole), ("broken", broken)):
        (tmp_path / name).mkdir()
        history.write(tmp_path / name, journal.rows, journal.phases, SOURCES)
    for table in (history.HISTORY, history.PHASES):
        one, other = (tmp_path / name / table for name in ("whole", "broken"))
        assert one.read_bytes() == other.read_bytes()
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


def test_a_journal_of_wrong_types_is_refused_by_its_key() -> None:
    written = encode(Journal(watch.init(2), Window.empty(2)))
    written["window"]["steps"] = "x"
    with pytest.raises(UserError, match=r"^journal\.window\.steps: 'x' is not a whole number$"):
        decode(written, Journal, "journal", nan=True)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Scratch]:
    with folder.hold(tmp_path, "warmup", INPUTS) as scratch:
        yield scratch


def at(run: Run, step: int) -> TrainState:
    """A state of that step, whose weights tell it."""
    state = new(run)
    state.step = step
    with torch.no_grad():
        for weights in state.model.parameters():
            weights.fill_(step)
    return state


def save(held: Scratch, state: TrainState, inputs: dict[str, int] = INPUTS) -> None:
    """As a regime under way does."""
    journal = Journal(watch.init(2), Window.empty(2), sound=f"step {state.step}")
    made = Scratch(held.folder, inputs)
    resume.save(held, state.step, lambda part: journals.save(part, state, journal, made), None)


def newest(held: Scratch, run: Run) -> tuple[tuple[TrainState, Journal] | None, list[str]]:
    return resume.load_newest(held, lambda path: journals.load(path, lambda: new(run), held))


def same(one: TrainState, other: TrainState, at: Path) -> bool:
    for name, state in (("one", one), ("other", other)):
        checkpoint.save(at / name, state, {})
    return (at / "one").read_bytes() == (at / "other").read_bytes()


def test_state_and_journal_are_taken_up(held: Scratch, run: Run, tmp_path: Path) -> None:
    for step in (5, 10):
        save(held, at(run, step))
    found, refused = newest(held, run)
    assert found is not None
    assert (found[1].sound, refused) == ("step 10", [])
    assert same(found[0], at(run, 10), tmp_path)


def test_another_format_or_other_inputs_are_refused(
    held: Scratch, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(held, at(run, 5), {**INPUTS, "scale.d_model": 32})
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "FORMAT", 99)
        save(held, at(run, 10))
    found, refused = newest(held, run)
    assert found is None
    assert "checkpoint format 99, this code reads" in refused[0]
    assert refused[1].endswith("made from other inputs: scale.d_model: 32, now 16")


def test_a_state_that_a_refused_file_has_half_filled_is_not_used(
    held: Scratch, run: Run, tmp_path: Path
) -> None:
    spoiled = at(run, 10)
    with torch.no_grad():
        list(spoiled.model.parameters())[-1].fill_(torch.nan)
    save(held, at(run, 5))
    save(held, spoiled)
    found, (refused,) = newest(held, run)
    assert found is not None
    assert "not finite" in refused
    assert same(found[0], at(run, 5), tmp_path)


def test_what_safetensors_cannot_write_is_an_error_of_the_system(
    held: Scratch, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise checkpoint.SafetensorError("I/O error: No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(OSError, match="No space left"):
        save(held, at(run, 5))
    assert not list(held.folder.glob("*.part"))
