"""`andrea lm-eval`: a model, a folder of tasks, numbers."""

from __future__ import annotations

import importlib.util
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest
import torch

from andrea import cli
from andrea.common.files import read_json
from andrea.config.training import Scale
from andrea.exporting import folder
from andrea.model.gpt import GPT, initialise
from andrea.tokens.tokenizer import Alphabet, Tokenizer, build

Capture = pytest.CaptureFixture[str]
SCALE = Scale(
    segments=2, d_model=8, n_heads=2, n_layers=1, context=8, micro_batch=2, grad_accumulation=1,
    steps=9, bigram_init=0, lr=0.01, log_every=1,
)  # fmt: skip
TASK = """
task: uniform
dataset_path: json
dataset_kwargs: {data_files: {test: text.jsonl}}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{text}}"
metric_list: [{metric: bits_per_byte}]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An exported model that finds all tokens equally likely, and a task of two documents."""
    torch.set_num_threads(1)
    model = GPT(SCALE)
    initialise(model, 1)
    library = build(Alphabet([b"the", b" river"], np.full(258, -3.0)))
    folder.write(tmp_path / "model", model, Tokenizer(library), "")
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "uniform.yaml").write_text(TASK)
    (tmp_path / "tasks" / "text.jsonl").write_text('{"text": "xyz"}\n{"text": "the river"}\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_numbers_are_printed_and_written(here: Path, capsys: Capture) -> None:
    """Three tokens for three bytes, then five tokens for twelve; each of log2(259) bits."""
    for more, expected in (([], 5 / 12), (["--limit", "1", "--rows", "1"], 1.0)):
        arguments = ["model", "--tasks", "tasks", "--out", "out.json", "--force", *more]
        assert cli.main(["lm-eval", *arguments]) == 0
        bits = np.log2(259) * expected
        found = read_json(Path("out.json"))
        assert found["uniform"]["bits_per_byte"] == pytest.approx(bits)
        assert f"uniform bits_per_byte {bits:.6g}" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent", "--tasks", "tasks"], "absent: no such model; it is warmup, "),
        (["model", "--tasks", "absent"], "{here}/absent: no such folder of tasks"),
        (["model", "--tasks", "model"], "{here}/model: no task in it"),
        (["model", "--tasks", "tasks", "--limit", "0"], "--limit: 0 is not allowed, must be 1 or"),
        (["model", "--tasks", "tasks", "--limit", "-1"], "--limit: -1 is not allowed, must be 1"),
        (["model", "--tasks", "tasks", "--out", "model"], "model: not a regular file"),
        (["model", "--tasks", "tasks", "--out", "tasks/text.jsonl"], "tasks/text.jsonl: there alr"),
        (["model", "--tasks", "tasks", "--rows", "x"], "--rows: 'x' is not a whole number"),
        (["model", "--tasks", "tasks", "--out", "a/b"], "a/b: there is no folder a"),
    ],
)
def test_mistakes(here: Path, capsys: Capture, arguments: list[str], message: str) -> None:
    assert cli.main(["lm-eval", *arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: {message.format(here=here)}")
    assert told.count("\n") == 1


def test_without_the_library(here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def absent(name: str) -> ModuleSpec | None:
        return None if name == "lm_eval" else find(name)

    monkeypatch.setattr("andrea.commands.lm_eval.find_spec", absent)
    assert cli.main(["lm-eval", "model", "--tasks", "tasks"]) == 2
    assert capsys.readouterr().err == (
        "error: lm-eval: not installed; `pip install 'andrea[lm-eval]'` brings it\n"
    )
