"""The real thing, small: real dvc and mlflow on some documents of four shipped sources."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
SOURCES = ("hermes3-general", "chat", "dictionary", "repo-docs")
DOCUMENTS = {"train": 60, "eval": 8}
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}


class Repository:
    """A copy of the project in which every command is a real process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *command: str) -> str:
        """Run a command and return what it printed; its failure fails the test."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, **QUIET, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def ran(self, printed: str) -> list[str]:
        """Stages that dvc says it ran."""
        return [line.split("'")[1] for line in printed.splitlines() if line.startswith("Running")]

    def query(self, sql: str) -> list[tuple[str, ...]]:
        """Rows of the MLflow database."""
        with sqlite3.connect(self.folder / "mlflow.db") as database:
            return database.execute(sql).fetchall()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
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
    yield run
    shutil.rmtree(folder)


def _write_params(path: Path) -> None:
    yaml = YAML()
    params = yaml.load((ROOT / "params.yaml").read_text())
    params["scale"] = "tiny"
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
    ran = repository.ran(repository("dvc", "repro"))
    shards = [f"shard@{source}" for source in SOURCES]
    rest = ["warmup", "firehose", "polish", "evaluate", "track"]
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
    lines = repository("dvc", "status").splitlines()
    assert [line for line in lines if line and not line.startswith(("\t", " "))] == ["track:"]


def test_a_regime_trained_again_has_the_same_bytes(repository: Repository) -> None:
    before = (repository.folder / "dvc.lock").read_bytes()
    ran = repository.ran(repository("dvc", "repro", "--force", "--single-item", "firehose"))
    assert ran == ["firehose"]
    assert (repository.folder / "dvc.lock").read_bytes() == before
    assert repository.ran(repository("dvc", "repro")) == ["track"]
    assert repository.query("select status from runs") == [("FINISHED",)]


def test_a_polish_experiment_runs_polish_and_what_follows(repository: Repository) -> None:
    repository("git", "add", "-A")
    repository("git", "commit", "-qm", "first run")
    printed = repository("dvc", "exp", "run", "-n", "half", "-S", "polish.floor=0.5")
    assert repository.ran(printed) == ["polish", "evaluate", "track"]
    rows = repository.query(
        "select r.name, r.status, p.value from runs r join params p on p.run_uuid = r.run_uuid"
        " where p.key = 'polish.floor' order by p.value"
    )
    assert [row[1:] for row in rows] == [("FINISHED", "0.5"), ("FINISHED", "0.7")]
    assert rows[0][0] == "half"
    shown = repository("dvc", "exp", "show", "--csv", "--drop", ".*", "--keep", "polish.floor")
    assert "half" in shown
    changed = repository("dvc", "metrics", "diff", "--all", "HEAD")
    assert "data/reports/polish/metrics.json" in changed
