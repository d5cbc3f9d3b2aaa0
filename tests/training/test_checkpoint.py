from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from andrea.common.codec import decode, encode
from andrea.common.errors import UserError
from andrea.config.training import Scale
from andrea.model.gpt import GPT
from andrea.training import checkpoint, state
from andrea.training.checkpoint import FORMAT
from andrea.training.run import Run
from andrea.training.watch import WatchState
from tests.runs import OPTIMIZER

FORMAT_2 = Path(__file__).parent / "files/format-2.safetensors"


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


def test_a_file_of_format_2_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Of a firehose whose code named the scale's fields otherwise; all but these stays the same."""
    note = checkpoint.read_note(FORMAT_2)
    raw = raw_note(FORMAT_2)
    assert raw["format"] == 2
    assert raw["facts"]["scale"]["peak_rate"] == note["facts"]["scale"]["lr"] == 0.01
    scale = checkpoint.checked(FORMAT_2, note["facts"]["scale"], Scale, "scale")
    training = state.new(scale, OPTIMIZER, 3, 0, "cpu")
    checkpoint.load(FORMAT_2, training)
    watch = decode(note["journal"]["watch"], WatchState, "watch")
    assert checkpoint.encoded(training) == raw["state"]
    assert encode(watch) == raw["journal"]["watch"]
    checkpoint.save(tmp_path / "again", training, note["facts"], {"watch": encode(watch)})
    assert raw_note(tmp_path / "again") == {**note, "format": FORMAT}
    before, after = load_file(FORMAT_2), load_file(tmp_path / "again")
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def raw_note(path: Path) -> dict[str, Any]:
    """As it stands in the file."""
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()[checkpoint.KEY])
