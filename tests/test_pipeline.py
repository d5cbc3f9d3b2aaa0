"""The real thing, small: real dvc and mlflow on some documents of three shipped sources."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from ruamel.yaml import YAML
from safetensors.numpy import load_file

ROOT = Path(__file__).parents[1]
SOURCES = ("hermes3-general", "chat", "repo-docs")
DOCUMENTS = {"train": 60, "eval": 8}
CHECKPOINT = "checkpoint.safetensors"
QUEUE_SECONDS = 400
MARK = "ANDREA_TEST_REPOSITORY"  # tells the processes that a test has started
ENVIRONMENT = {
    "PYTHONDONTWRITEBYTECODE": "",  # else every stage compiles the copied code again
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}


class Repository:
    """A copy of the project in which every command is a real process."""

    first = ""  # what the first `dvc repro` printed

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *command: str) -> str:
        """Run a command and return what it printed; its failure fails the test."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        # Files, not pipes: the queue's worker keeps them open after `dvc queue start` has ended.
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env={**os.environ, **ENVIRONMENT, "PATH": path, MARK: str(self.folder)},
                stdout=out,
                stderr=err,
                check=False,
            )
            out.seek(0)
            err.seek(0)
            printed = out.read()
            assert done.returncode == 0, f"{command}\n{printed}\n{err.read()}"
        return printed

    def ran(self, printed: str) -> list[str]:
        """Stages that dvc says it ran."""
        return [line.split("'")[1] for line in printed.splitlines() if line.startswith("Running")]

    def query(self, sql: str) -> list[tuple[str, ...]]:
        """Rows of the MLflow database."""
        with closing(sqlite3.connect(self.folder / "mlflow.db")) as database:
            return database.execute(sql).fetchall()

    def run(self, name: str) -> tuple[str, dict[str, str], dict[str, list[int]]]:
        """Status, parameters and the curves' steps of the one MLflow run of that name."""
        [(key, status)] = self.query(f"select run_uuid, status from runs where name = '{name}'")
        params = dict(self.query(f"select key, value from params where run_uuid = '{key}'"))
        curves: dict[str, list[int]] = {}
        rows = f"select key, step from metrics where run_uuid = '{key}' order by step"
        for curve, step in self.query(rows):
            curves.setdefault(curve, []).append(int(step))
        return status, params, curves

    def outdated(self) -> list[str]:
        """Stages that `dvc status` names."""
        lines = self("dvc", "status").splitlines()
        return [line for line in lines if line and not line.startswith(("\t", " "))]

    def outputs(self) -> dict[str, bytes]:
        """Every file that DVC keeps in its cache."""
        folders = [self.folder / "data" / n for n in ("tokenizer", "shards", "checkpoints")]
        found = [path for folder in folders for path in folder.rglob("[!.]*") if path.is_file()]
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in found}

    def metrics(self, stage: str) -> dict[str, Any]:
        """The stage's `metrics.json`."""
        return json.loads((self.folder / f"data/reports/{stage}/metrics.json").read_text())

    def stop(self) -> None:
        """End what commands have left running: workers of DVC's queue are daemons."""
        for process in psutil.process_iter(["environ"]):
            if (process.info["environ"] or {}).get(MARK) == str(self.folder):
                with suppress(psutil.NoSuchProcess):
                    process.kill()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """One command has run in it, and what it gave is committed."""
    folder = tmp_path_factory.mktemp("repository")
    for name in ("andrea", "stages"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("dvc.yaml", ".dvcignore", ".gitignore"):
        shutil.copy(ROOT / name, folder)
    for name in (*SOURCES, "ood"):
        for split, count in DOCUMENTS.items():
            file = Path("data/raw") / name / f"{split}.jsonl.gz"
            if (ROOT / file).exists():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                with gzip.open(ROOT / file) as rows:
                    kept = b"".join(rows.readline() for _ in range(count))
                (folder / file).write_bytes(gzip.compress(kept, mtime=0))
    _write_params(folder / "params.yaml")
    run = Repository(folder)
    run("git", "init", "-q")
    run("dvc", "init", "-q")
    shutil.copy(ROOT / ".dvc" / "config", folder / ".dvc")
    run("git", "add", "-A")
    run("git", "commit", "-qm", "start")
    run.first = run("dvc", "repro")
    run("git", "add", "-A")
    run("git", "commit", "-qm", "first run")
    yield run
    run.stop()
    shutil.rmtree(folder)


@pytest.fixture
def committed(repository: Repository) -> Repository:
    """The repository as it was committed, whatever the tests before have left there."""
    repository("git", "reset", "-q", "--hard")
    repository("dvc", "checkout", "-q")
    return repository


def _write_params(path: Path) -> None:
    yaml = YAML()
    params = yaml.load((ROOT / "params.yaml").read_text())
    params["scale"] = "tiny"
    params["scales"]["tiny"] |= {"steps": 40, "log_every": 5, "head_start": 10}
    params["evaluate"] |= {"sample_tokens": 8, "memorization_prompts": 4}
    params["geometry"] |= {
        "word_tokens": 400, "frequent_words": 20, "head_rows": 2, "head_tokens": 24,
        "repeat_tokens": 5, "repeat_rows": 2, "prompt_tokens": 8, "batch_tokens": 16,
        "source_rows": 1, "directions": 2, "noise_draws": 1, "slice_directions": 1,
        "slice_points": 3, "hessian_products": 3, "plane_points": 3, "bins": 10,
        "chance_points": 5,
    }  # fmt: skip
    params["compute"]["threads"] = 1
    params["curriculum"]["max_epochs"] = 1000
    params["tokenizer"]["comparison_bytes"] = 50_000
    params["warmup"]["sources"] = ["hermes3-general", "chat"]
    for section in (params["sources"], params["polish"]["floors"], params["polish"]["caps"],
                    params["tokenizer"]["weights"]):  # fmt: skip
        for source in list(section):
            if source not in SOURCES:
                del section[source]
    yaml.dump(params, path)


def test_one_command_runs_everything(repository: Repository) -> None:
    ran = repository.ran(repository.first)
    shards = [f"shard@{source}" for source in SOURCES]
    rest = ["warmup", "firehose", "polish", "evaluate", "geometry", "track"]
    assert sorted(ran) == sorted(["tokenizer", *shards, "baselines", *rest])
    status = repository.query("select status from runs")
    assert status == [("FINISHED",)]
    curves = repository.query("select key, count(distinct step) from metrics group by key")
    points = dict(curves)
    assert points["warmup/loss"] == 1
    assert points["firehose/weight.chat"] == 4
    assert points["polish/loss"] == 4
    assert points["evaluate/polish.bits_per_byte.chat"] == 1
    doubled = repository.query(
        "select 1 from metrics group by run_uuid, key, step having count(*)>1"
    )
    assert doubled == []


def test_again_nothing_but_track_runs(repository: Repository) -> None:
    assert repository.ran(repository("dvc", "repro")) == ["track"]
    assert repository.query("select count(*) from runs") == [(1,)]
    assert repository.outdated() == ["track:"]


def test_a_regime_trained_again_has_the_same_bytes(repository: Repository) -> None:
    before = (repository.folder / "dvc.lock").read_bytes()
    ran = repository.ran(repository("dvc", "repro", "--force", "--single-item", "firehose"))
    assert ran == ["firehose"]
    assert (repository.folder / "dvc.lock").read_bytes() == before
    assert repository.ran(repository("dvc", "repro")) == ["track"]
    assert repository.query("select status from runs") == [("FINISHED",)]


def test_a_polish_experiment_runs_polish_and_what_follows(repository: Repository) -> None:
    printed = repository("dvc", "exp", "run", "-n", "half", "-S", "polish.floor=0.5")
    assert repository.ran(printed) == ["polish", "evaluate", "geometry", "track"]
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
    assert committed.ran(printed) == ["firehose", "polish", "evaluate", "geometry", "track"]
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
    stages = ["tokenizer", "shard@chat", "baselines", "warmup", "polish", "evaluate"]
    printed = committed("dvc", "repro", "--force", "--single-item", *stages)
    assert sorted(committed.ran(printed)) == sorted(stages)
    assert (committed.folder / "dvc.lock").read_bytes() == before
