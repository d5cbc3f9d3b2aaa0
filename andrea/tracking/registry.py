"""MLflow's registry of models: a run's checkpoint as something that takes text and gives text."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Collection
from contextlib import redirect_stderr
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from andrea.common.errors import UserError
from andrea.tracking import store
from andrea.tracking.identity import store_uri
from andrea.writing.request import DEFAULTS

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

FOLDER = "model"  # the artifact that `andrea.exporting.folder` wrote
PACKAGES = ("numpy", "pandas", "ruamel.yaml", "safetensors", "tokenizers", "torch", "mlflow")
EXAMPLE = ["> What do you think about the sea?\n< "]
PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Registered:
    """A version of a model, and the run that it came from."""

    name: str
    version: int
    run: str


def register(
    folder: Path, name: str, experiment: str, run: str | None, keys: Collection[str],
    tag: tuple[str, str],
) -> Registered:  # fmt: skip
    """Log an exported model to its run, and make it the newest version of `name`.

    Args:
        run: id or name of the run; None for the one of `keys`, else the newest with the tag.
        keys: of the present experiment (`andrea.tracking.identity`).
        tag: name and value that the run must have: the hash of its checkpoint.

    Raises:
        UserError: there is no such run, it holds another checkpoint, or MLflow refuses.
    """
    uri = store_uri()
    if uri.startswith(store.SQLITE) and not Path(uri.removeprefix(store.SQLITE)).is_file():
        raise UserError(f"{uri.removeprefix(store.SQLITE)}: no such database; `dvc repro` makes it")
    store.quiet()
    import mlflow
    from mlflow.exceptions import MlflowException

    try:
        mlflow.set_tracking_uri(uri)
        client = mlflow.MlflowClient(uri)
        chosen = _choose(_runs(client, experiment), run, keys, tag)
        return Registered(name, _log(client, chosen, folder, name), chosen.info.run_id)
    except (MlflowException, OSError) as error:
        raise UserError(f"MLflow: {' '.join(str(error).split())[:300]}") from error


def hash_of(folder: Path) -> str:
    """The hash under which DVC keeps a folder of files, as `dvc.lock` and runs name it."""
    names = {f.relative_to(folder).as_posix(): f for f in folder.rglob("*") if f.is_file()}
    rows = []
    for name, file in sorted(names.items()):
        with file.open("rb") as content:
            rows.append({"md5": hashlib.file_digest(content, "md5").hexdigest(), "relpath": name})
    return hashlib.md5(json.dumps(rows, sort_keys=True).encode()).hexdigest() + ".dir"


def requirements() -> list[str]:
    """What the model needs where it is served, in the versions of here; no local builds."""
    return [f"{name}=={metadata.version(name).partition('+')[0]}" for name in PACKAGES]


def _runs(client: MlflowClient, experiment: str) -> list[Run]:
    """Runs of an experiment, the newest first."""
    stand = client.get_experiment_by_name(experiment)
    if stand is None:
        raise UserError(f"MLflow has no experiment {experiment!r}; `dvc repro` makes it")
    runs: list[Run] = []
    token = None
    while True:
        page = client.search_runs(
            [stand.experiment_id], order_by=["attributes.start_time DESC"], page_token=token
        )
        runs += page
        token = page.token
        if not token:
            return runs


def _choose(runs: list[Run], named: str | None, keys: Collection[str], tag: tuple[str, str]) -> Run:
    """The run that is meant.

    Raises:
        UserError: there is none, or it holds another checkpoint.
    """
    key, wanted = tag
    holding = [run for run in runs if run.data.tags.get(key) == wanted]
    if named is None:
        ours = [run for run in holding if run.data.tags.get(store.KEY) in keys]
        if not holding:
            raise UserError(f"no run holds this checkpoint ({key} {wanted}); `dvc repro` tracks it")
        return (ours or holding)[0]
    named_so = [run for run in runs if named in (run.info.run_id, run.info.run_name)]
    if not named_so:
        names = ", ".join(str(run.info.run_name) for run in runs[:5])
        raise UserError(f"--run: {named!r} is no run; the newest are {names}")
    for run in named_so:
        if run in holding:
            return run
    other = named_so[0].data.tags.get(key, "no checkpoint")
    raise UserError(f"--run: {named!r} holds {other}, the checkpoint here is {wanted}")


def _log(client: MlflowClient, run: Run, folder: Path, name: str) -> int:
    import mlflow.pyfunc
    from mlflow.models import Model

    made = client.create_logged_model(
        run.info.experiment_id, name=name, source_run_id=run.info.run_id, params=run.data.params
    )
    # The signature comes from the type hints of `predict`, defaults of parameters from the example.
    with redirect_stderr(io.StringIO()):  # progress bars, and what we say ourselves
        info = Model.log(
            None,
            model_id=made.model_id, run_id=run.info.run_id, flavor=mlflow.pyfunc, name=name,
            registered_model_name=name, python_model=str(Path(__file__).with_name("served.py")),
            artifacts={FOLDER: str(folder)}, code_paths=[str(PACKAGE)],
            input_example=(EXAMPLE, DEFAULTS), pip_requirements=requirements(),
        )  # fmt: skip
    return int(info.registered_model_version)
