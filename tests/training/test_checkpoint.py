from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from andrea.common.errors import UserError
from andrea.model.gpt import GPT
from andrea.training import checkpoint, state
from andrea.training.checkpoint import FORMAT
from andrea.training.run import Run


def new(run: Run, seed: int = 5) -> state.TrainState:
    return state.new(run.scale, run.optimizer, 3, seed, "cpu")


def test_round_trip(run: Run, tmp_path: Path) -> None:
    written, read = new(run), new(run, seed=6)
    written.step = 17
    checkpoint.save(tmp_path / "a", written, {"sources": ["x"]})
    assert checkpoint.load(tmp_path / "a", read) == {"sources": ["x"]}
    assert read.step == 17
    assert all(map(torch.equal, written.model.parameters(), read.model.parameters()))
    model = GPT(run.scale)
    checkpoint.load_weights(tmp_path / "a", model)
    assert all(map(torch.equal, written.model.parameters(), model.parameters()))


def test_what_is_wrong_is_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    with pytest.raises(UserError, match="no such checkpoint"):
        checkpoint.read_note(path)
    checkpoint.save(path, new(run), {})
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:100], b"", b"not a checkpoint"):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match="not a checkpoint"):
            checkpoint.load(path, new(run))
    path.write_bytes(whole.replace(f'\\"format\\": {FORMAT}'.encode(), b'\\"format\\": 9'))
    with pytest.raises(UserError, match=f"checkpoint format 9, this code reads {FORMAT}"):
        checkpoint.load(path, new(run))
    path.write_bytes(whole)
    wide = replace(run, scale=replace(run.scale, d_model=32))
    with pytest.raises(UserError, match=r"tensor weight.token has shape \[267, 16\]"):
        checkpoint.load(path, new(wide))


def test_a_file_that_would_run_code_is_refused(run: Run, tmp_path: Path) -> None:
    class Hostile:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "ran",))

    path = tmp_path / "checkpoint"
    path.write_bytes(pickle.dumps(Hostile()))
    with pytest.raises(UserError, match="not a checkpoint"):
        checkpoint.load(path, new(run))
    assert not (tmp_path / "ran").exists()
