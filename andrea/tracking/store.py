"""The only module that imports MLflow, and only when a run is opened: that takes 3 seconds.

Any call may raise whatever the store raises (server down, disk full, database locked, MLflow not
installed); `live` and `replay` turn that into one warning.
"""

from __future__ import annotations

import fcntl
import json
import logging
import math
import os
import re
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from andrea.common.files import whole_file
from andrea.tracking.content import Dataset, Point
from andrea.tracking.identity import Identity, home, store_uri

if TYPE_CHECKING:
    from mlflow import MlflowClient

SQLITE = "sqlite:///"
KEY = "andrea.key"
METRICS_PER_CALL = 1000  # limits of MLflow's log_batch
PARAMS_PER_CALL = 100
BUSY_SECONDS = 5.0  # wait for another writer of the SQLite file
ENVIRONMENT = {  # read by MLflow when it is imported; what the user has set stays
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "GIT_PYTHON_REFRESH": "quiet",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",  # seconds
}


class Run:
    """One run of the store, with what it held when it was opened."""

    def __init__(self, client: MlflowClient, identifier: str) -> None:
        self.identifier = identifier
        self._client = client
        self._held = client.get_run(identifier)

    def steps(self, key: str) -> set[int]:
        """Steps at which the curve `key` has a value."""
        return set(self._curve(key))

    def add_rows(self, rows: Iterable[list[Point]]) -> None:
        """Add points to curves. A row is written whole or not at all."""
        from mlflow.entities import Metric

        now = milliseconds()
        for batch in _batches(rows):
            metrics = [Metric(p.key, p.value, p.milliseconds or now, p.step) for p in batch]
            self._client.log_batch(self.identifier, metrics=metrics)

    def missing(self, rows: Iterable[list[Point]]) -> Iterator[list[Point]]:
        """What `rows` say and the run does not; written decimals may differ in the last digits."""
        curves: dict[str, dict[int, float]] = {}
        for row in rows:
            for key in {point.key for point in row} - curves.keys():
                curves[key] = self._curve(key)
            yield [
                point
                for point in row
                if not math.isclose(
                    point.value,
                    curves[point.key].get(point.step, math.nan),
                    rel_tol=1e-5,
                    abs_tol=1e-12,
                )
            ]

    def set_figures(self, figures: Mapping[str, float]) -> None:
        """Set metrics that have one value; a key that is a curve already stays one."""
        held = self._held.data.metrics
        new = [Point(key, value, 0) for key, value in figures.items() if held.get(key) != value]
        self.add_rows([point] for point in new)

    def set_params(self, settings: Mapping[str, str]) -> None:
        """Set those parameters that are not there: MLflow's parameters are write-once."""
        from mlflow.entities import Param

        held = self._held.data.params
        params = [Param(key, value) for key, value in settings.items() if key not in held]
        for start in range(0, len(params), PARAMS_PER_CALL):
            self._client.log_batch(self.identifier, params=params[start : start + PARAMS_PER_CALL])

    def set_tags(self, tags: Mapping[str, str]) -> None:
        """Set tags, over old values too."""
        from mlflow.entities import RunTag

        self._client.log_batch(self.identifier, tags=[RunTag(k, v) for k, v in tags.items()])

    def add_files(self, paths: Iterable[Path]) -> None:
        """Put every file into the artifact folder that is named like its own folder."""
        for path in paths:
            self._client.log_artifact(self.identifier, str(path), path.parent.name)

    def add_datasets(self, datasets: Iterable[Dataset]) -> None:
        """Name the data that the run read."""
        from mlflow.entities import Dataset as Entity
        from mlflow.entities import DatasetInput, InputTag

        inputs = [
            DatasetInput(
                Entity(
                    name=dataset.name,
                    digest=dataset.digest,
                    source_type="local",
                    source=json.dumps({"uri": dataset.source}),
                    profile=dataset.profile,
                ),
                [InputTag("mlflow.data.context", dataset.role)],
            )
            for dataset in datasets
        ]
        if inputs:
            self._client.log_inputs(self.identifier, datasets=inputs)

    def resume(self) -> None:
        """Show the run as running."""
        self._client.update_run(self.identifier, status="RUNNING")

    def end(self, status: str) -> None:
        """Show the run as FINISHED or FAILED; a run that already is keeps its end time."""
        if self._client.get_run(self.identifier).info.status != status:
            self._client.set_terminated(self.identifier, status)

    def _curve(self, key: str) -> dict[int, float]:
        if key not in self._held.data.metrics:
            return {}
        history = self._client.get_metric_history(self.identifier, key)
        ordered = sorted(history, key=lambda metric: metric.timestamp)
        return {metric.step: metric.value for metric in ordered}


def quiet() -> None:
    """Have MLflow, before it is imported, tell nobody of us and say little."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    logging.getLogger("urllib3").setLevel(logging.ERROR)


def open_run(identity: Identity, experiment: str, tags: Mapping[str, str]) -> Run:
    """Find the run of `identity`, or create it with `tags`.

    All under a file lock: first users of a database would crash each other, and two stages would
    make two runs.
    """
    quiet()
    from mlflow import MlflowClient

    uri = store_uri()
    with _lock(home() / ".scratch" / "track" / "lock"):
        if uri.startswith(SQLITE):
            prepare(Path(uri.removeprefix(SQLITE)))
        client = MlflowClient(uri)
        stand = _experiment(client, experiment, uri)
        runs = client.search_runs([stand], f"tags.`{KEY}` = '{identity.key}'", max_results=1)
        if runs:
            return Run(client, runs[0].info.run_id)
        created = client.create_run(stand, tags={**tags, KEY: identity.key}, run_name=identity.name)
        return Run(client, created.info.run_id)


def holds(uri: str, identifier: str) -> bool:
    """Whether a run that was once written is still there and finished, without importing MLflow.

    A stage that was run again by itself has set it RUNNING.

    A server is believed: asking it would take longer than a pipeline with nothing to do may.
    """
    if not uri.startswith(SQLITE):
        return True
    path = uri.removeprefix(SQLITE)
    query = "select 1 from runs where run_uuid = ? and status = 'FINISHED'"
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as database:
            return database.execute(query, (identifier,)).fetchone() is not None
    except sqlite3.Error:
        return False


def warn(error: Exception | str) -> None:
    """Say in one line on standard error why MLflow does not get its points."""
    kind = "" if isinstance(error, str) else f"{type(error).__name__}: "
    reason = " ".join(f"MLflow at {store_uri()}: {kind}{error}".split())
    without_password = re.sub(r"//[^/@ ]*@", "//", reason)
    print(
        f"warning: {without_password[:300]};"
        " the pipeline goes on, and a later `dvc repro` fills the gap",
        file=sys.stderr,
        flush=True,
    )


def prepare(path: Path) -> None:
    """Make the database, whole or not at all, or fail at once where MLflow would try for minutes.

    Raises:
        OSError, sqlite3.Error: the database cannot be written.
    """
    if not path.exists():
        from mlflow import MlflowClient

        with whole_file(path) as part:
            part.touch()
            MlflowClient(f"{SQLITE}{part}").search_experiments(max_results=1)
    with closing(sqlite3.connect(path, BUSY_SECONDS, isolation_level=None)) as database:
        database.execute("begin immediate")
        database.execute("rollback")


def _experiment(client: MlflowClient, name: str, uri: str) -> str:
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        # By default artifacts of a run in a copy of the repository would go away with the copy.
        place = (home() / "mlartifacts").as_uri() if uri.startswith(SQLITE) else None
        return client.create_experiment(name, artifact_location=place)
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    return str(experiment.experiment_id)


def _batches(rows: Iterable[list[Point]]) -> Iterator[list[Point]]:
    batch: list[Point] = []
    for row in rows:
        if batch and len(batch) + len(row) > METRICS_PER_CALL:
            yield batch
            batch = []
        batch = batch + row
    if batch:
        yield batch


def milliseconds() -> int:
    """Time now, as MLflow counts it."""
    return time.time_ns() // 1_000_000


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
