"""The real thing, small: real dvc and mlflow on some documents of three shipped sources."""

from __future__ import annotations

import csv
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from andrea.common.files import read_json, sha256
from tests.repository import SOURCES, Repository, build

CHECKPOINT = "checkpoint.safetensors"
QUEUE_SECONDS = 400


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """One command has run in it, and what it gave is committed."""
    run = build(tmp_path_factory.mktemp("repository"))
    run.first = run("dvc", "repro")
    run("git", "add", "-A")
    run("git", "commit", "-qm", "first run")
    yield run
    run.stop()
    shutil.rmtree(run.folder)


@pytest.fixture
def committed(repository: Repository) -> Repository:
    """The repository as it was committed, whatever the tests before have left there."""
    repository("git", "reset", "-q", "--hard")
    repository("dvc", "checkout", "-q")
    return repository


def test_one_command_runs_everything(repository: Repository) -> None:
    ran = repository.ran(repository.first)
    text = [f"{word}@{source}" for word in ("documents", "shard") for source in SOURCES]
    rest = ["ood", "warmup", "firehose", "polish", "evaluate", "geometry", "report", "track"]
    assert sorted(ran) == sorted(["tokenizer", *text, "baselines", *rest])
    status = repository.query("select status from runs")
    assert status == [("FINISHED",)]
    curves = repository.query("select key, count(distinct step) from metrics group by key")
    points = dict(curves)
    assert points["warmup/loss"] == 1
    assert points["firehose/weight.chat"] == 4
    assert points["polish/loss"] == 4
    assert points["evaluate/polish.bits_per_byte.chat"] == 1
    measured = read_json(repository.folder / "data/reports/evaluate/checkpoints.json")
    files = repository.folder.glob("data/checkpoints/*/checkpoint.safetensors")
    assert measured == {file.parent.name: sha256(file) for file in files}
    doubled = repository.query(
        "select 1 from metrics group by run_uuid, key, step having count(*)>1"
    )
    assert doubled == []


def test_a_regime_trained_again_has_the_same_bytes_and_nothing_but_track_runs(
    repository: Repository,
) -> None:
    assert repository.outdated() == ["track:"]
    before = (repository.folder / "dvc.lock").read_bytes()
    ran = repository.ran(repository("dvc", "repro", "--force", "--single-item", "firehose"))
    assert ran == ["firehose"]
    assert (repository.folder / "dvc.lock").read_bytes() == before
    assert repository.ran(repository("dvc", "repro")) == ["track"]
    assert repository.query("select status from runs") == [("FINISHED",)]
    assert repository.outdated() == ["track:"]


def test_a_polish_experiment_runs_polish_and_what_follows(repository: Repository) -> None:
    printed = repository("dvc", "exp", "run", "-n", "half", "-S", "polish.floor=0.5")
    assert repository.ran(printed) == ["polish", "evaluate", "geometry", "report", "track"]
    rows = repository.query(
        "select r.name, r.status, p.value from runs r join params p on p.run_uuid = r.run_uuid"
        " where p.key = 'polish.floor' order by p.value"
    )
    assert [row[1:] for row in rows] == [("FINISHED", "0.5"), ("FINISHED", "0.7")]
    assert rows[0][0] == "half"
    shown = csv.DictReader(repository("dvc", "exp", "show", "--csv").splitlines())
    assert [row["polish.floor"] for row in shown if "half" in row.values()] == ["0.5"]
    changed = repository("dvc", "metrics", "diff", "--all", "HEAD")
    assert "data/reports/polish/metrics.json" in changed


def test_plots_show_the_three_regimes(repository: Repository) -> None:
    for command in (("show",), ("diff", "HEAD")):
        page = repository("dvc", "plots", *command).strip().removeprefix("file://")
        text = Path(page).read_text(encoding="utf-8")
        assert text.count('"filename": "warmup/history.csv"') >= 2
        for regime in ("warmup", "firehose", "polish"):
            assert f'"filename": "{regime}/history.csv"' in text
        assert '"field": "loss"' in text
        assert '"field": "entropy"' in text
    assert '"rev": "HEAD"' in text


@pytest.mark.slow
def test_a_clone_pulls_a_trained_run(committed: Repository, tmp_path: Path) -> None:
    committed("dvc", "remote", "add", "-d", "store", str(tmp_path / "store"))
    committed("dvc", "push", "-q")
    committed("git", "commit", "-qam", "remote")
    committed("git", "clone", "-q", ".", str(tmp_path / "clone"))
    clone = Repository(tmp_path / "clone")
    assert str(tmp_path / "store") in clone("dvc", "remote", "list")
    assert clone.outputs() == {}
    clone("dvc", "pull", "-q")
    assert clone.outputs() == committed.outputs()
    assert f"data/checkpoints/polish/{CHECKPOINT}" in clone.outputs()
    assert clone.outdated() == ["track:"]
    assert clone.ran(clone("dvc", "repro")) == ["track"]
    names = "select name, status from runs where name like 'repro-%'"
    assert clone.query(names) == committed.query(names)


@pytest.mark.slow
def test_an_experiment_in_a_copy_lands_in_the_same_database(committed: Repository) -> None:
    before = (committed.folder / "params.yaml").read_bytes()
    committed("dvc", "exp", "run", "--temp", "-n", "copy", "-S", "polish.floor=0.6")
    assert (committed.folder / "params.yaml").read_bytes() == before
    _check_polish_experiment(committed, "copy", "0.6")


@pytest.mark.slow
def test_the_queue_lands_in_the_same_database(committed: Repository) -> None:
    committed("dvc", "exp", "run", "--queue", "-n", "queued", "-S", "polish.floor=0.8")
    committed("dvc", "queue", "start")
    end = time.monotonic() + QUEUE_SECONDS
    while "Success" not in (status := committed("dvc", "queue", "status")):
        assert time.monotonic() < end, status
        assert "Failed" not in status, status
        time.sleep(3)
    _check_polish_experiment(committed, "queued", "0.8")


def _check_polish_experiment(repository: Repository, name: str, floor: str) -> None:
    status, params, curves = repository.run(name)
    assert status == "FINISHED"
    assert params["polish.floor"] == floor
    first = repository.run(repository.query("select name from runs order by start_time")[0][0])
    for regime in ("warmup", "firehose", "polish"):
        assert curves[f"{regime}/loss"] == first[2][f"{regime}/loss"]
    assert curves["evaluate/polish.macro_mean"] == [0]
    assert (repository.folder / "mlartifacts").is_dir()


@pytest.mark.slow
def test_without_polish_its_stage_hands_the_checkpoint_through(committed: Repository) -> None:
    printed = committed("dvc", "exp", "run", "-n", "v2", "-S", "firehose.end=1.0")
    assert committed.ran(printed) == [
        "firehose",
        "polish",
        "evaluate",
        "geometry",
        "report",
        "track",
    ]
    firehose, polish = (
        load_file(committed.folder / f"data/checkpoints/{name}/{CHECKPOINT}")
        for name in ("firehose", "polish")
    )
    assert firehose.keys() == polish.keys()
    for name, weights in firehose.items():
        np.testing.assert_array_equal(weights, polish[name])
    assert set(committed.metrics("evaluate")["polish_minus_firehose"].values()) == {0.0}
    status, params, curves = committed.run("v2")
    assert (status, params["firehose.end"]) == ("FINISHED", "1.0")
    assert curves["firehose/loss"][-1] == 39
    assert "polish/loss" not in curves


@pytest.mark.slow
def test_without_warmup_the_firehose_starts_at_step_0(committed: Repository) -> None:
    printed = committed("dvc", "exp", "run", "-n", "cold", "-S", "warmup.end=0")
    assert committed.ran(printed) == [
        "warmup",
        "firehose",
        "polish",
        "evaluate",
        "geometry",
        "report",
        "track",
    ]
    status, _, curves = committed.run("cold")
    assert status == "FINISHED"
    assert "warmup/loss" not in curves
    assert curves["firehose/loss"][0] == 4
    assert curves["evaluate/warmup.macro_mean"] == [0]


@pytest.mark.slow
def test_every_stage_run_again_has_the_same_bytes(committed: Repository) -> None:
    before = (committed.folder / "dvc.lock").read_bytes()
    stages = [
        "documents@chat",
        "ood",
        "tokenizer",
        "shard@chat",
        "baselines",
        "warmup",
        "polish",
        "evaluate",
    ]
    printed = committed("dvc", "repro", "--force", "--single-item", *stages)
    assert sorted(committed.ran(printed)) == sorted(stages)
    assert (committed.folder / "dvc.lock").read_bytes() == before
