"""A model in MLflow's registry: found by its hash, loaded without a pickle, served for real."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from dvc_data.hashfile.build import build
from dvc_data.hashfile.db import HashFileDB
from dvc_objects.fs.local import LocalFileSystem
from mlflow import MlflowClient

from andrea import cli
from andrea.common import paths
from andrea.tracking import identity, registry, replay
from tests.contract.conftest import closure, imports
from tests.writing.made import Params, make

ROOT = Path(__file__).parents[2]
POLISH = paths.CHECKPOINTS / "polish"
TAG = "checkpoint.polish"
Capture = pytest.CaptureFixture[str]

# MLflow's own use of its libraries.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*AnyType:UserWarning"),
]


@pytest.fixture(scope="module")
def tracked(
    build_repository: Callable[[Path], Params], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A repository whose run is in a database beside it, and an older run of other weights."""
    folder = tmp_path_factory.mktemp("tracked")
    config = make(folder, build_repository)
    with pytest.MonkeyPatch.context() as patch:
        enter(patch, folder)
        replay.track(config)
        client = MlflowClient(identity.store_uri())
        (run,) = client.search_runs([only_experiment(client)])
        assert run.data.tags[TAG] == registry.hash_of(POLISH)
        client.create_run(
            run.info.experiment_id, start_time=1, run_name="older", tags={TAG: "f.dir"}
        )
    return folder


def enter(patch: pytest.MonkeyPatch, folder: Path) -> None:
    for name in ("DVC_ROOT", "DVC_EXP_NAME", "DVC_EXP_BASELINE_REV", "MLFLOW_TRACKING_URI"):
        patch.delenv(name, raising=False)
    patch.chdir(folder)


@pytest.fixture
def repository(tracked: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    enter(monkeypatch, tracked)
    return tracked


def only_experiment(client: MlflowClient) -> str:
    found = client.get_experiment_by_name("andrea")
    assert found is not None
    return str(found.experiment_id)


def test_the_hash_is_that_of_dvc(tmp_path: Path) -> None:
    """Of a folder with folders in it, too."""
    tree = tmp_path / "tree"
    for name in ("b.bin", "a/z.bin", "a/é.bin", "a-b"):
        file = tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(name.encode() * 100)
    store = HashFileDB(LocalFileSystem(), str(tmp_path / "store"))
    _, _, theirs = build(store, str(tree), LocalFileSystem(), "md5", dry_run=True)
    assert registry.hash_of(tree) == theirs.hash_info.value


def test_all_that_is_imported_is_required() -> None:
    """In the versions of here, without a local build's mark."""
    required = registry.requirements()
    assert all("+" not in line and "==" in line for line in required)
    known = {line.partition("==")[0].partition(".")[0] for line in required}
    files = closure(ROOT / "andrea/tracking/served.py", neutral=())
    ours = {ROOT / name for name in files}
    named = {module.partition(".")[0] for file in ours for module in imports(file)}
    assert named - set(sys.stdlib_module_names) - {"andrea"} <= known


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run", "other"], "--run: 'other' is no run; the newest are repro-"),
        (["--run", "older"], "--run: 'older' holds f.dir, the checkpoint here is "),
        (["warmup"], "data/checkpoints/warmup/checkpoint.safetensors: no such checkpoint"),
        (["--name", "a/b"], "MLflow: Invalid model name ('a/b') provided"),
    ],
)
@pytest.mark.usefixtures("repository")
def test_what_cannot_be_registered(arguments: list[str], message: str, capsys: Capture) -> None:
    assert cli.main(["register", *arguments]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"error: {message}")
    assert told.err.count("\n") == 1
    client = MlflowClient(identity.store_uri())
    assert not client.search_registered_models()
    assert not client.search_logged_models([only_experiment(client)])


def test_a_checkpoint_that_no_run_holds(repository: Path, capsys: Capture) -> None:
    """Also where it was changed after the run was tracked."""
    extra = repository / POLISH / "more"
    extra.touch()
    try:
        assert cli.main(["register"]) == 2
    finally:
        extra.unlink()
    assert capsys.readouterr().err.startswith("error: no run holds this checkpoint (checkpoint.p")


def test_no_database_is_made(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/absent.db")
    assert cli.main(["register"]) == 2
    assert capsys.readouterr().err == (
        f"error: {tmp_path}/absent.db: no such database; `dvc repro` makes it\n"
    )
    assert not (tmp_path / "absent.db").exists()


@pytest.fixture
def elsewhere(repository: Path, tmp_path: Path) -> dict[str, Any]:
    """How to run a process that knows the database, but neither the repository nor its code."""
    environment = {**os.environ, "MLFLOW_TRACKING_URI": identity.store_uri()}
    environment.pop("PYTHONPATH", None)
    return {"cwd": tmp_path, "env": environment, "stderr": subprocess.PIPE, "text": True}


@pytest.mark.slow
def test_it_is_registered_loaded_and_served(repository: Path, elsewhere: dict[str, Any]) -> None:
    client = MlflowClient(identity.store_uri())
    (before,) = client.search_runs([only_experiment(client)], f"tags.`{TAG}` != 'f.dir'")
    command = [sys.executable, "-m", "andrea.cli", "register", "--name", "my little"]
    run = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith(f"my little, version 1, of run {before.info.run_id}\n")

    assert " -m 'models:/my little/1' --env-manager local " in run.stdout
    version = client.get_model_version("my little", "1")
    assert version.run_id == before.info.run_id
    assert client.get_run(version.run_id).info.status == before.info.status
    assert client.get_run(version.run_id).info.end_time == before.info.end_time
    (kept,) = (repository / "mlartifacts/models").iterdir()
    names = {file.name for file in kept.rglob("*") if file.is_file()}
    assert "model.safetensors" in names
    assert not {name for name in names if name.endswith((".pkl", ".pickle", ".bin", ".pyc"))}

    prompts = ["ab", "> hi\n< "]
    numbers = {"tokens": 9, "temperature": 0.0}
    expected = [said(prompt, numbers) for prompt in prompts]
    code = (
        "import json, sys, mlflow; model = mlflow.pyfunc.load_model('models:/my little/1');"
        f"said = model.predict({prompts!r}, params={numbers!r});"
        "names = sorted(p.name for p in model.metadata.signature.params);"
        "print(json.dumps([said, names]))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, **elsewhere)
    assert loaded.returncode == 0, loaded.stderr
    assert json.loads(loaded.stdout) == [expected, sorted(registry.DEFAULTS)]

    with served("models:/my little/1", elsewhere) as address:
        status, found = post(address, {"inputs": prompts, "params": numbers})
        assert (status, found) == (200, {"predictions": expected})
        status, found = post(address, {"inputs": prompts, "params": {"temperature": -1.0}})
        assert status == 400
        assert "temperature: -1.0 is not allowed, must be 0 or more" in found["message"]
        status, found = post(address, {"inputs": ["ab", "a\ud800"]})
        assert status == 400
        assert "prompt 2: half a character (a lone surrogate) at character 1" in found["message"]
        status, _ = post(address, {"inputs": [1]})
        assert status == 400


def said(prompt: str, numbers: Mapping[str, Any]) -> str:
    """What the command writes."""
    options = [text for name, value in numbers.items() for text in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "andrea.cli", "generate", "--json", "--prompt", prompt]
    run = subprocess.run(
        [*command, *options], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return str(json.loads(run.stdout)["text"])


@contextmanager
def served(model: str, elsewhere: Mapping[str, Any]) -> Iterator[str]:
    """The address on this machine where MLflow's own server answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "mlflow", "models", "serve", "-m", model,
        "--env-manager", "local", "--host", "127.0.0.1", "--port", str(port),
    ]  # fmt: skip
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL,
        **{**elsewhere, "stderr": subprocess.DEVNULL},
    )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}"
        end = time.monotonic() + 120
        while not answers(f"{address}/ping"):
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.2)
        yield address
    finally:
        os.killpg(process.pid, 15)
        process.wait(30)


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def post(address: str, body: Mapping[str, Any]) -> tuple[int, Any]:
    request = urllib.request.Request(
        f"{address}/invocations", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
