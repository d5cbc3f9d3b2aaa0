"""What the stages' files say about an experiment, in the words of MLflow. Knows no MLflow."""

from __future__ import annotations

import math
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from andrea.common import files, paths, tables
from andrea.common.codec import leaves
from andrea.config import reading
from andrea.config.training import REGIMES
from andrea.config.tree import Config
from andrea.tracking import identity, watched
from andrea.watching import recorded

DIGEST_LENGTH = 32  # MLflow allows 36
PACKAGES = ("torch", "numpy", "tokenizers", "dvc", "mlflow")


class Point(NamedTuple):
    """One value of one curve; `step` is the optimiser step over all regimes.

    `milliseconds` is when it came about; 0 stands for when it is written.
    """

    key: str
    value: float
    step: int
    milliseconds: int = 0


class Dataset(NamedTuple):
    """One text that the run read: `role` is training or evaluation, `profile` is JSON."""

    name: str
    digest: str
    source: str
    role: str
    profile: str


@dataclass(frozen=True)
class Content:
    """All that can be rebuilt from files: rows of curves, final figures, tags, artifacts, data."""

    settings: Mapping[str, str]
    rows: list[list[Point]]
    tags: Mapping[str, str]
    figures: Mapping[str, float]
    artifacts: list[Path]
    datasets: list[Dataset]


def read(config: Config) -> Content:
    """Read the reports and manifests of the current folder; what is not there is left out."""
    artifacts = sorted(
        path
        for path in paths.REPORTS.glob("*/*")
        if path.is_file() and not path.name.startswith(".")
    )
    by_regime = {name: recorded.read(paths.REPORTS / name) for name in REGIMES}
    apart = watched.steps_apart(config)
    alarms = [alarm for name in REGIMES for alarm in by_regime[name].alarms]
    return Content(
        settings=identity.settings_of(config),
        rows=[
            *(row for name in REGIMES for row in _history(name)),
            *(
                row(name, int(figures["step"]), figures)
                for name in REGIMES
                for figures in watched.rows(by_regime[name], apart)
            ),
        ],
        tags=watched.tags(alarms) if config.watch.enabled else {},
        figures=dict(_figures(artifacts, {*config.sources, "ood"})),
        artifacts=artifacts,
        datasets=list(_datasets(config)),
    )


def fingerprint(content: Content) -> str:
    """Hash of all that a run would show."""
    reports = {path.as_posix(): files.sha256(path) for path in content.artifacts}
    digests = {dataset.name: dataset.digest for dataset in content.datasets}
    return identity.fingerprint([dict(content.settings), reports, digests])


def row(name: str, step: int, values: Mapping[str, float], milliseconds: int = 0) -> list[Point]:
    """Points of the regime `name` at `step`, of every column but `step` itself.

    NaN and infinity are left out: MLflow has no word for them.
    """
    return [
        Point(f"{name}/{column}", float(value), step, milliseconds)
        for column, value in values.items()
        if column != "step" and math.isfinite(value)
    ]


def tags(config: Config) -> dict[str, str]:
    """Where a run comes from: commit, experiment, scale, versions."""
    name = os.environ.get("DVC_EXP_NAME")
    named = {
        "scale": config.scale_name,
        "mlflow.source.name": "dvc exp run" if name else "dvc repro",
        "mlflow.source.type": "LOCAL",
        "version.python": platform.python_version(),
    }
    commit = os.environ.get("DVC_EXP_BASELINE_REV") or _head()
    if commit:
        named["mlflow.source.git.commit"] = commit
    if name:
        named["dvc.experiment"] = name
    for package in PACKAGES:
        try:
            named[f"version.{package}"] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return named


def checkpoints(lock: Path = Path("dvc.lock")) -> dict[str, str]:
    """Tags `checkpoint.<regime>`: the md5 under which DVC keeps the folder."""
    stages = reading.load(lock).get("stages", {}) if lock.is_file() else {}
    return {
        f"checkpoint.{name}": out["md5"]
        for name in REGIMES
        for out in stages.get(name, {}).get("outs", [])
        if out["path"] == (paths.CHECKPOINTS / name).as_posix() and "md5" in out
    }


def _history(name: str) -> Iterator[list[Point]]:
    path = paths.REPORTS / name / "history.csv"
    if path.is_file():
        for values in tables.numbers(path):
            yield row(name, int(values["step"]), values)


def _figures(artifacts: list[Path], sources: set[str]) -> Iterator[tuple[str, float]]:
    """Final figures; by source only those of the evaluation, for MLflow draws a chart for each."""
    for path in artifacts:
        if path.name == "metrics.json":
            for name, value in leaves(files.read_json(path)):
                shown = path.parent.name == "evaluate" or name.rsplit(".", 1)[-1] not in sources
                if shown and isinstance(value, int | float):
                    yield f"{path.parent.name}/{name}", float(value)


def _datasets(config: Config) -> Iterator[Dataset]:
    for source, path in identity.manifests(config):
        given = config.sources[source]
        text = f"{given.path}/{given.train}"
        digest = files.sha256(path)[:DIGEST_LENGTH]
        yield Dataset(source, digest, text, "training", path.read_text(encoding="utf-8"))
    ood = Path(config.ood.path)
    if ood.is_file():
        digest = files.sha256(ood)[:DIGEST_LENGTH]
        yield Dataset("ood", digest, ood.as_posix(), "evaluation", "{}")


def _head() -> str:
    try:
        result = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout.strip()
