"""Which MLflow run an experiment is, and where that run stands. Knows no MLflow."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from andrea.common import files, paths
from andrea.common.codec import encode, leaves
from andrea.config import reading
from andrea.config.tree import Config

PIPELINE = Path("dvc.yaml")


@dataclass(frozen=True)
class Identity:
    """What makes two stages of one experiment find the same run.

    `name` is for people, `key` is unique. `inputs` is the key that a plain `dvc repro` of the same
    parameters, code and data has; outside `dvc exp run` the two are equal.
    """

    name: str
    key: str
    inputs: str


def identify(config: Config) -> Identity:
    """The identity of the experiment that runs in the current folder.

    In `dvc exp run` it is the baseline commit, the experiment's name and its parameters (`--force`
    gives an old name to new parameters, and MLflow's parameters are write-once). Otherwise it is
    the hash of every input: parameters, code and data, but not the commit, so that committing a
    result makes no new run.
    """
    settings = settings_of(config)
    inputs = fingerprint([settings, dict(_code()), dict(_data(config))])
    name = os.environ.get("DVC_EXP_NAME")
    if not name:
        return Identity(f"repro-{inputs[:8]}", inputs, inputs)
    baseline = os.environ.get("DVC_EXP_BASELINE_REV", "")
    return Identity(name, fingerprint([baseline, name, settings]), inputs)


def settings_of(config: Config) -> dict[str, str]:
    """Parameters that act on a result, under the names typed after `-S`, as text.

    Of the scales only the active one is there; `sources` is the list of their names.
    """
    shown = encode(config)
    del shown["track"]
    active = shown["scale"] = shown.pop("scale_name")
    shown["scales"] = {active: shown["scales"][active]}
    shown["sources"] = list(config.sources)
    return {name: _text(value) for name, value in leaves(shown)}


def fingerprint(value: Any) -> str:
    """Hex SHA-256 of JSON-able data, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def home() -> Path:
    """The main repository, also where DVC runs the stage in a copy (`--temp` and the queue)."""
    return paths.repository().resolve()


def store_uri() -> str:
    """`MLFLOW_TRACKING_URI`, else a SQLite file in the main repository."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home()}/mlflow.db"


def manifests(config: Config) -> Iterator[tuple[str, Path]]:
    """The shard manifest of every source that has one: it holds the hashes of text and tokens."""
    for source in config.sources:
        path = paths.SHARDS / source / "manifest.json"
        if path.is_file():
            yield source, path


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _code() -> Iterator[tuple[str, str]]:
    """Files outside `data` that `dvc.yaml` names as dependencies: what a result can depend on."""
    stages = reading.load(PIPELINE).get("stages", {}) if PIPELINE.is_file() else {}
    for name, stage in stages.items():
        for dependency in stage.get("do", stage).get("deps", []) if name != "track" else []:
            path = Path(dependency)
            if path.exists() and not dependency.startswith("data/"):
                for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
                    yield file.as_posix(), files.sha256(file)


def _data(config: Config) -> Iterator[tuple[str, str]]:
    for source, path in manifests(config):
        yield source, files.sha256(path)
    ood = Path(config.ood.path)
    if ood.is_file():
        yield "ood", files.sha256(ood)
