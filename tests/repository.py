"""A copy of the project in which real dvc and mlflow run, on some documents of three sources."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
SOURCES = ("hermes3-general", "chat", "repo-docs")
DOCUMENTS = {"train": 60, "eval": 8}
OUTPUTS = ("documents", "ood", "tokenizer", "shards", "checkpoints")
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
SMALL_GEOMETRY = {
    "word_tokens": 400, "frequent_words": 20, "head_rows": 2, "head_tokens": 24,
    "repeat_tokens": 5, "repeat_rows": 2, "prompt_tokens": 8, "batch_tokens": 16,
    "source_rows": 1, "directions": 2, "noise_draws": 1, "slice_directions": 1,
    "slice_points": 3, "hessian_products": 3, "plane_points": 3, "bins": 10,
    "chance_points": 5,
}  # fmt: skip


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
        folders = [self.folder / "data" / n for n in OUTPUTS]
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


def build(folder: Path) -> Repository:
    """The project in `folder`, committed; nothing has run in it."""
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
    return run


def _write_params(path: Path) -> None:
    yaml = YAML()
    params = yaml.load((ROOT / "params.yaml").read_text())
    params["scale"] = "tiny"
    params["scales"]["tiny"] |= {"steps": 40, "log_every": 5, "bigram_init": 10}
    params["evaluate"] |= {"sample_tokens": 8, "memorization_prompts": 4}
    params["geometry"] |= SMALL_GEOMETRY
    params["compute"]["threads"] = 1
    params["limits"]["max_epochs"] = 1000
    params["tokenizer"]["comparison_bytes"] = 50_000
    params["warmup"]["sources"] = ["hermes3-general", "chat"]
    for section in (params["sources"], params["polish"]["floors"], params["polish"]["caps"],
                    params["tokenizer"]["weights"]):  # fmt: skip
        for source in list(section):
            if source not in SOURCES:
                del section[source]
    yaml.dump(params, path)
