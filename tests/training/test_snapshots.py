from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.errors import UserError
from andrea.model.gpt import GPT
from andrea.training import snapshots
from andrea.training.run import Run
from andrea.training.snapshots import Snapshots
from andrea.training.state import TrainState
from tests.runs import new


@pytest.fixture
def training(run: Run) -> TrainState:
    return new(run)


def at(training: TrainState, step: int) -> TrainState:
    """The state at that step, with weights that tell it."""
    training.step = step
    with torch.no_grad():
        for weights in training.model.parameters():
            weights.fill_(step)
    return training


def told(model: GPT) -> set[float]:
    return {number for weights in model.parameters() for number in weights.unique().tolist()}


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 9))
def test_steps_lie_between(first: int, length: int, count: int) -> None:
    found = snapshots.between(first, first + length, count)
    assert all(first < step < first + length for step in found)
    assert list(found) == sorted(set(found))
    assert len(found) == count or len(found) == max(0, length - 1) or count + 1 > length


def test_they_are_evenly_spaced() -> None:
    assert snapshots.between(100, 500, 3) == (200, 300, 400)


def test_what_is_taken_is_read_back(training: TrainState, tmp_path: Path) -> None:
    taken = Snapshots(tmp_path / "scratch", (2, 4))
    tmp_path.joinpath("scratch").mkdir()
    for step in range(1, 6):
        taken.take(at(training, step))
    taken.copy_to(tmp_path / "result")
    found = snapshots.listed(tmp_path / "result")
    assert list(found) == [2, 4]
    for step, path in found.items():
        assert snapshots.read(path, training.model) == step
        assert told(training.model) == {step}


def test_a_run_without_leaves_no_folder(training: TrainState, tmp_path: Path) -> None:
    none = Snapshots(tmp_path / "scratch", ())
    none.take(at(training, 4))
    none.copy_to(tmp_path / "result")
    assert list(tmp_path.iterdir()) == []
    assert snapshots.listed(tmp_path / "result") == {}


def test_only_what_was_put_down_before_is_asked_for(training: TrainState, tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    first = Snapshots(folder, (2, 4))
    first.take(at(training, 2))
    first.put_down()
    Snapshots(folder, (2, 4)).check(3)
    with pytest.raises(UserError, match="snapshot of step 4 is missing"):
        Snapshots(folder, (2, 4)).check(4)
    path = snapshots.listed(folder)[2]
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(UserError, match="not what was written"):
        Snapshots(folder, (2, 4)).check(2)
    with pytest.raises(UserError, match="not what was written"):
        snapshots.read(path, training.model)


def test_one_that_cannot_be_written_waits(
    training: TrainState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    taken = Snapshots(folder, (2,))
    taken.take(at(training, 2))
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError, match="full"):
            taken.put_down()
    assert not list(tmp_path.rglob("*.part"))
    taken.put_down()
    taken.check(2)


def test_one_of_another_network_is_refused(training: TrainState, run: Run, tmp_path: Path) -> None:
    taken = Snapshots(tmp_path / "scratch", (2,))
    tmp_path.joinpath("scratch").mkdir()
    taken.take(at(training, 2))
    taken.put_down()
    (path,) = snapshots.listed(tmp_path / "scratch").values()
    other = GPT(replace(run.scale, d_model=8))
    with pytest.raises(UserError, match="not a snapshot of this network"):
        snapshots.read(path, other)
