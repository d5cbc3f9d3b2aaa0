"""Kills while real dvc runs the regimes: of the trainer, and of dvc itself."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from andrea.scratch.folder import FINISHED, checkpoints, holder, step_of
from tests.conftest import SOURCES, Params, save_params
from tests.faults import ROOT, Stages, results
from tests.repository import ENVIRONMENT, MARK, Repository

pytestmark = pytest.mark.slow
REGIMES = ("warmup", "firehose", "polish")
PATIENCE_SECONDS = 180
# Of the shells that DVC may run a stage in, one stays as the trainer's parent and one makes way.
SHELLS = [shell for shell in ("/bin/sh", shutil.which("bash")) if shell]


class Dvc:
    """A dvc command under way."""

    def __init__(self, repository: Path, *command: str, shell: str = SHELLS[0]) -> None:
        self._folder = repository
        self._log = (repository.parent / f"{time.monotonic_ns()}.log").open("w+")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.process = subprocess.Popen(
            ["dvc", *command], cwd=repository, stdout=self._log, stderr=subprocess.STDOUT,
            env={**os.environ, **ENVIRONMENT, "PATH": path, MARK: str(repository), "SHELL": shell},
        )  # fmt: skip

    def trainer(self, regime: str, *, more_than: int = 0) -> int:
        """The process that trains the regime, once it has saved more steps."""
        for _ in self._patience():
            for key in (self._folder / ".scratch" / regime).glob("*/"):
                found = checkpoints(key)
                process = holder(key)
                if process and found and step_of(found[-1]) > more_than:
                    return process
        raise AssertionError

    def finished(self, regime: str) -> None:
        """Wait until the regime has written its results."""
        for _ in self._patience():
            if list((self._folder / ".scratch" / regime).glob(f"*/{FINISHED}")):
                return

    def _patience(self) -> Iterator[None]:
        limit = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < limit and self.process.poll() is None:
            yield
            time.sleep(0.005)
        raise AssertionError(self.printed())

    def printed(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def end(self) -> tuple[int, str]:
        """Exit status and what was printed by dvc and the stages."""
        status = self.process.wait(PATIENCE_SECONDS)
        printed = self.printed()
        self._log.close()
        return status, printed


@pytest.fixture(scope="module")
def params(
    build_repository: Callable[[Path], Params], tmp_path_factory: pytest.TempPathFactory
) -> Params:
    """Of a run that takes seconds, so that there is time to kill it."""
    params = build_repository(tmp_path_factory.mktemp("params"))
    params["scales"]["small"]["steps"] = 600
    params["warmup"]["end"], params["firehose"]["end"] = 0.3, 0.6
    params["scratch"]["checkpoint_every"] = 20
    params["limits"] |= {"max_epochs": 1_000_000, "on_degenerate": "report"}
    return params


@pytest.fixture(scope="module")
def straight(
    params: Params,
    build_repository: Callable[[Path], Params],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[dict[str, float]], dict[str, bytes]]:
    """Results of runs that nothing disturbs, by what is changed in section `polish`."""

    def run(polish: dict[str, float]) -> dict[str, bytes]:
        folder = tmp_path_factory.mktemp("straight") / "run"
        build_repository(folder)
        save_params(folder, {**params, "polish": {**params["polish"], **polish}})
        with Stages() as stages:
            documents, shards = (
                [f"{word} {source}" for source in SOURCES] for word in ("documents", "shard")
            )
            for stage in (*documents, "tokenizer", *shards, *REGIMES):
                ended = stages(folder, stage)
                assert ended.status == 0, ended.err
        return results(folder)

    return run


@pytest.fixture(scope="module")
def repository(
    params: Params,
    build_repository: Callable[[Path], Params],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Repository]:
    """Nothing has run in it but the stages of the text."""
    folder = tmp_path_factory.mktemp("dvc") / "repository"
    build_repository(folder)
    save_params(folder, params)
    for name in ("andrea", "stages"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("dvc.yaml", ".dvcignore", ".gitignore"):
        shutil.copy(ROOT / name, folder)
    run = Repository(folder)
    run("git", "init", "-q")
    run("dvc", "init", "-q")
    shutil.copy(ROOT / ".dvc" / "config", folder / ".dvc")
    run("dvc", "repro", "-q", "tokenizer", *(f"shard@{source}" for source in SOURCES))
    run("git", "add", "-A")
    run("git", "commit", "-qm", "start")
    yield run
    run.stop()


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)


def newest(repository: Repository, regime: str) -> int:
    keys = (repository.folder / ".scratch" / regime).glob("*/")
    return max(step_of(path) for key in keys for path in checkpoints(key))


def went_on_from(printed: str, regime: str) -> int:
    found = re.search(rf"^{regime}: goes on from step (\d+)", printed, re.MULTILINE)
    assert found, printed
    return int(found[1])


def test_killed_trainers_and_killed_dvc(
    repository: Repository, straight: Callable[[dict[str, float]], dict[str, bytes]]
) -> None:
    """Each regime's trainer once; then dvc, while polish trains, under every shell."""
    saved = 0
    for number, regime in enumerate(REGIMES):
        command = Dvc(repository.folder, "repro", "polish")
        kill(command.trainer(regime))
        status, printed = command.end()
        assert status != 0
        assert f"failed to reproduce '{regime}'" in printed
        if number:
            before = REGIMES[number - 1]
            assert went_on_from(printed, before) >= saved
        saved = newest(repository, regime)
    for shell in SHELLS:
        command = Dvc(repository.folder, "repro", "polish", shell=shell)
        trainer = psutil.Process(command.trainer("polish", more_than=saved))
        command.process.kill()
        command.process.wait()
        trainer.wait(PATIENCE_SECONDS)
        _, printed = command.end()
        assert went_on_from(printed, "polish") >= saved
        (stopped,) = re.findall(
            r"polish: stopped by the end of its parent or terminal after (\d+) steps", printed
        )
        saved = newest(repository, "polish")
        assert saved == int(stopped)
    printed = repository("dvc", "repro", "polish")
    assert went_on_from(printed, "polish") == saved
    assert results(repository.folder) == straight({})
    assert repository.ran(repository("dvc", "repro", "polish")) == []


def test_what_was_trained_before_dvc_could_note_it_is_not_trained_again(
    repository: Repository,
) -> None:
    shutil.copy(repository.folder / "dvc.lock", kept := repository.folder.parent / "dvc.lock")
    before = results(repository.folder)
    shutil.rmtree(repository.folder / ".scratch")
    command = Dvc(repository.folder, "repro", "--force", "--single-item", "firehose")
    command.finished("firehose")
    command.process.kill()
    command.end()
    printed = repository("dvc", "repro", "--force", "--single-item", "firehose")
    assert went_on_from(printed, "firehose") == 360
    assert "firehose: steps 360 to 360" in printed
    assert results(repository.folder) == before
    assert (repository.folder / "dvc.lock").read_bytes() == kept.read_bytes()


def test_an_experiment_in_a_copy_goes_on_too(
    repository: Repository, straight: Callable[[dict[str, float]], dict[str, bytes]]
) -> None:
    repository("dvc", "repro", "ood")  # `exp apply` checks out every output that DVC keeps
    repository("git", "add", "-A")
    repository("git", "commit", "-qm", "trained")
    experiment = ("exp", "run", "--temp", "-n", "cut", "-S", "polish.floor=0.6", "polish")
    command = Dvc(repository.folder, *experiment)
    kill(command.trainer("polish"))
    assert command.end()[0] != 0
    saved = newest(repository, "polish")
    printed = repository("dvc", *experiment)
    assert went_on_from(printed, "polish") >= saved
    repository("dvc", "exp", "apply", "cut")
    assert results(repository.folder) == straight({"floor": 0.6})
