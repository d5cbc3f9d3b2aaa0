"""Bad input, stage by stage: one line that says what to mend, or a whole result."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from andrea.common import paths
from andrea.common.errors import UserError
from andrea.common.files import read_json
from andrea.corpus.documents import open_documents
from andrea.shell import stage as shell
from andrea.tokens.shards import open_shard
from andrea.tokens.tokenizer import BOS, Tokenizer
from andrea.training.checkpoint import save
from tests.conftest import untracked

ROOT = Path(__file__).parents[1]
Params = dict[str, Any]
TRAIN = Path("data/raw/plain/train.jsonl")


def stage(name: str, *arguments: str) -> None:
    """Run a stage as its command does, in this process; a refusal is a SystemExit."""
    word = getattr(importlib.import_module(f"stages.{name}"), name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [f"stages.{name}", *arguments])
        shell.run(word, *(["source"] if name in ("documents", "shard") else []))


def refused(capsys: pytest.CaptureFixture[str], name: str, *arguments: str) -> str:
    """What a stage says that must end with status 2 and one line."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        stage(name, *arguments)
    assert end.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    return told.removeprefix("error: ").rstrip()


def change(values: Params) -> None:
    """Set parameters of the current repository."""
    params = read_json(paths.PARAMS)
    for key, value in values.items():
        *sections, name = key.split(".")
        place = params
        for section in sections:
            place = place[section]
        place[name] = value
    paths.PARAMS.write_text(json.dumps(params), encoding="utf-8")


def write(texts: list[str]) -> None:
    """Replace the training text of the source `plain`."""
    TRAIN.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts), encoding="utf-8")


@pytest.fixture(scope="module")
def trained(
    build_repository: Callable[[Path], Params], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The small repository after `firehose`."""
    folder = tmp_path_factory.mktemp("trained")
    params = build_repository(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        untracked(patch)
        for source in params["sources"]:
            stage("documents", source)
        stage("tokenizer")
        for source in params["sources"]:
            stage("shard", source)
        stage("warmup")
        stage("firehose")
    return folder


@pytest.fixture
def repository(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, entered."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    untracked(monkeypatch)
    return tmp_path


pytestmark = pytest.mark.usefixtures("repository")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", ": holds no document"),
        (b'{"text": "fine"}\n{"text": "a\xff"}\n', ", line 2: invalid UTF-8 at byte 11"),
        (b'{"text": "fine"}\n{"text": 3}\n', ', line 2: the field "text" is int'),
        (b'{"text": "fine"}\n\n', ", line 2: an empty line"),
        (b'{"words": "fine"}\n', ', line 1: neither a text "text" nor'),
    ],
)
def test_text_that_cannot_be_read(
    content: bytes, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """File, line and reason."""
    TRAIN.write_bytes(content)
    told = refused(capsys, "documents", "plain")
    assert told.startswith(f"{TRAIN}{reason}")


def test_training_documents_that_are_all_held_out(capsys: pytest.CaptureFixture[str]) -> None:
    write(["one", "two"])
    TRAIN.with_name("eval.jsonl").write_bytes(TRAIN.read_bytes())
    told = refused(capsys, "documents", "plain")
    assert told.startswith(f"{TRAIN}: 2 different documents, 2 of them also in data/raw/plain/eval")


@pytest.mark.parametrize("held_out", ["eval.jsonl", None])
def test_a_source_of_one_document(held_out: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    """It cannot be in training and probe at once; the documents of before are left alone."""
    write(["the only document"])
    change({"sources.plain.eval": held_out})
    before = open_documents(paths.DOCUMENTS / "plain").manifest
    told = refused(capsys, "documents", "plain")
    assert told.startswith(f"{TRAIN}: 1 different documents, too few to split into train")
    assert open_documents(paths.DOCUMENTS / "plain").manifest == before


def test_a_folder_that_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    """The folder is named, and what belongs there."""
    shutil.rmtree(TRAIN.parent)
    told = refused(capsys, "documents", "plain")
    assert told.startswith("data/raw/plain: no such folder")
    for name in ("documents", "shard"):
        assert refused(capsys, name, "nowhere").startswith("source 'nowhere' is not in `sources`")


LARGE = " ".join(f"{n} words of many, many pages" for n in range(200_000))[:5_000_000]


@pytest.mark.parametrize(
    ("document", "learned"),
    [
        pytest.param(LARGE, False, id="5 MB"),
        pytest.param(LARGE, True, id="5 MB, learned from", marks=pytest.mark.slow),
        pytest.param("z" * 200_000, True, id="one character"),
    ],
)
def test_unusual_documents(document: str, learned: bool) -> None:
    """They come back from the shard as they were, with the others of their source."""
    texts = [document, *(f"short text {n}" for n in range(100))]
    write(texts)
    stage("documents", "plain")
    if learned:
        stage("tokenizer")
    stage("shard", "plain")
    shard = open_shard(paths.SHARDS / "plain", paths.TOKENIZER)
    tokenizer = Tokenizer.load(paths.TOKENIZER)
    found = set()
    for stream in (shard.train, shard.probe):
        borders = pairwise([*np.flatnonzero(stream == BOS), len(stream)])
        found |= {tokenizer.decode(stream[first:end]) for first, end in borders}
    assert found == set(texts)


@pytest.mark.parametrize("name", ["tokenizer", "warmup", "polish", "track"])
def test_a_floor_above_one(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Refused by whatever stage comes first, though only polish uses it."""
    change({"polish.floor": 1.2})
    assert refused(capsys, name) == "polish.floor: 1.2 is not allowed, must be from 0 to 1"


def test_no_floor_at_all() -> None:
    """`polish.floor=0` is a polish like any other, without a favourite."""
    change({"polish.floor": 0})
    stage("polish")
    shares = read_json(paths.REPORTS / "polish/metrics.json")["realised_share"]
    assert sum(shares.values()) == pytest.approx(1)
    assert (paths.CHECKPOINTS / "polish/checkpoint.safetensors").is_file()


def test_a_source_shorter_than_a_sequence(capsys: pytest.CaptureFixture[str]) -> None:
    """An error that names it, unless it is excluded."""
    write(["one", "two", "three"])
    stage("documents", "plain")
    stage("shard", "plain")
    told = refused(capsys, "warmup")
    assert told.startswith("source plain: ")
    assert "less than one sequence of 32" in told
    assert "warmup.caps.plain=0" in told
    excluded: Params = {
        f"{regime}.caps": {"plain": 0} for regime in ("warmup", "firehose", "polish")
    }
    change(excluded | {"polish.priority": "packed", "polish.floors": {}})
    stage("warmup")
    assert read_json(paths.REPORTS / "warmup/metrics.json")["realised_share"]["plain"] == 0


@pytest.mark.parametrize("name", ["baselines", "polish"])
def test_shards_of_another_tokenizer(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Their tokens would be read as other text; the next to use them refuses them."""
    change({"tokenizer.piece_cost_nats": 0})
    stage("tokenizer")
    told = refused(capsys, name)
    assert told.startswith("shard plain: ")
    assert "made with another tokenizer" in told


def test_a_stage_that_was_killed_leaves_nothing_that_counts(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half a shard is no shard; the next run clears it away and gives the same bytes."""
    folder = paths.SHARDS / "plain"
    whole = {file.name: file.read_bytes() for file in folder.iterdir()}
    shutil.rmtree(folder)  # as DVC does before a stage
    killed = (
        "import os, sys; from andrea.common import files; from andrea.shell import stage; "
        "files.write_json = lambda *_: os._exit(9); "
        "from stages import shard; sys.argv = ['', 'plain']; "
        "stage.run(shard.shard, 'source')"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", killed], cwd=repository, env=environment)
    assert done.returncode == 9
    assert (paths.SHARDS / "plain.part/train.bin").stat().st_size > 0
    assert refused(capsys, "warmup").startswith("shard plain: ")
    with pytest.raises(UserError, match=r"shard plain: .* is missing"):
        open_shard(folder, paths.TOKENIZER)
    stage("shard", "plain")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == whole
    assert not folder.with_name("plain.part").exists()


def test_an_interrupted_regime_leaves_no_checkpoint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor is one taken from the `.part` folder by the regime that follows."""
    shutil.rmtree(paths.CHECKPOINTS / "firehose")
    with monkeypatch.context() as patch:
        patch.setattr("andrea.training.checkpoint.save", _save_and_interrupt)
        with pytest.raises(SystemExit, match="130"):
            stage("firehose")
    assert "stopped; the same command goes on\n" in capsys.readouterr().err
    assert (paths.CHECKPOINTS / "firehose.part/checkpoint.safetensors").is_file()
    assert not (paths.CHECKPOINTS / "firehose").exists()
    told = refused(capsys, "polish")
    assert told.startswith("data/checkpoints/firehose/checkpoint.safetensors: no such checkpoint")


def test_a_checkpoint_that_was_cut_short(capsys: pytest.CaptureFixture[str]) -> None:
    """A file that lost its end is no checkpoint."""
    file = paths.CHECKPOINTS / "firehose/checkpoint.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    assert refused(capsys, "polish").startswith(f"{file}: not a checkpoint of this project")


def _save_and_interrupt(path: Path, *more: Any) -> None:
    save(path, *more)
    if path.parent.name == "firehose.part":  # and not in scratch
        raise KeyboardInterrupt
