"""`andrea health` and `andrea scratch`, over a regime that was really trained, and stopped."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from andrea import cli
from andrea.common.files import read_json, write_json
from andrea.config import tree
from andrea.scratch import folder as scratch
from andrea.training import checkpoint
from andrea.training.regime import train
from andrea.training.tracker import NullTracker
from stages import documents, shard, tokenizer, track

ROOT = Path(__file__).parents[1]
Params = dict[str, Any]
Capture = pytest.CaptureFixture[str]


class StopError(Exception):
    """In place of a kill."""


class Stopping(NullTracker):
    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Stop the run at the second row of its history, when the first stands in its status."""
        if step >= 14:
            raise StopError


@pytest.fixture(scope="module")
def trained(
    build_repository: Callable[[Path], Params], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The small repository: warmup is finished, and firehose stopped after 14 steps."""
    folder = tmp_path_factory.mktemp("trained")
    config = tree.read(build_repository(folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("DVC_ROOT", raising=False)
        for source in config.sources:
            documents.documents(config, source)
        tokenizer.tokenizer(config)
        for source in config.sources:
            shard.shard(config, source)
        train(config, "warmup", nullcontext(NullTracker()))
        with pytest.raises(StopError):
            train(config, "firehose", nullcontext(Stopping()))
        shutil.rmtree(scratch.ROOT / "warmup")
    return folder


@pytest.fixture
def repository(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, entered."""
    shutil.copytree(trained, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return tmp_path / "copy"


def only(stage: str) -> Path:
    (folder,) = (scratch.ROOT / stage).iterdir()
    return folder


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """By this process, as a trainer holds it."""
    with (folder / scratch.LOCK).open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def run(*arguments: str, capsys: Capture) -> tuple[int, list[str]]:
    status = cli.main(arguments)
    told = capsys.readouterr()
    assert told.err == ""
    assert all(len(line) <= 100 for line in told.out.splitlines())
    return status, told.out.splitlines()


def test_health_of_a_run_that_was_stopped(repository: Path, capsys: Capture) -> None:
    status, lines = run("health", capsys=capsys)
    assert status == 1
    folder = only("firehose")
    known = read_json(folder / scratch.STATUS)
    assert lines[0] == f"no run is under way; firehose stopped after 14 steps, in {folder}"
    assert lines[1] == "firehose, step 14 of 40 (35 %), firehose ends at 23, 1,792 tokens read"
    assert lines[2].startswith(f"rate {known['row']['lr']:.3g}, gradient norm ")
    table = {line.split()[0]: line.split()[1:] for line in lines if line}
    for source in ("plain", "packed", "split"):
        weight, loss, smoothed, probe, gap = map(float, table[source])
        assert weight == pytest.approx(known["row"][f"weight.{source}"], abs=1e-3)
        assert loss == pytest.approx(known["row"][f"loss.{source}"], abs=1e-3)
        assert gap == pytest.approx(probe - smoothed, abs=2e-3)
    assert "smoothed, probe and gap at step 9; nats per token" in lines
    assert "alarms in firehose: none" in lines
    assert any(line.startswith("samples at step 9: ") for line in lines)
    assert "excluded sources: none; skipped steps: 0" in lines
    newest = scratch.checkpoints(folder)[-1]
    assert lines[-2] == f"newest checkpoint: {newest.name}"
    assert lines[-1] == (
        f"`dvc repro`, or the same `dvc exp run`, goes on from step {scratch.step_of(newest)}"
    )


def test_health_of_a_run_under_way(repository: Path, capsys: Capture) -> None:
    with held(only("firehose")):
        status, lines = run("health", capsys=capsys)
    assert status == 0
    assert lines[0] == f"process {os.getpid()} trains firehose in {only('firehose')}"
    assert lines[1].startswith("firehose, step 14 of 40")
    assert "left" in lines[2]
    assert lines[-1].startswith("newest checkpoint: step-")


def test_health_of_an_alarm_that_halted(repository: Path, capsys: Capture) -> None:
    path = only("firehose") / scratch.STATUS
    known = read_json(path)
    alarm = {"step": 13, "kind": "degenerate", "source": "", "action": "halt", "text": "aaa"}
    known["watch"] |= {"alarms": [{**alarm, "count": 5}], "alarm_count": 1}
    write_json(path, known)
    status, lines = run("health", capsys=capsys)
    assert status == 1
    assert "  step 13: 5 degenerate samples in a row, such as 'aaa'" in lines
    assert lines[-1] == "past this alarm: `dvc exp run -S limits.on_degenerate=report`"


def test_health_of_a_regime_that_finished(repository: Path, capsys: Capture) -> None:
    shutil.rmtree(scratch.ROOT)
    status, lines = run("health", capsys=capsys)
    assert status == 0
    assert lines[0] == "no run is under way; warmup is the latest regime that finished"
    assert lines[1] == "warmup, step 4, 512 tokens read"
    assert any(line.startswith("plain") for line in lines)
    assert lines[-1] == "`dvc repro`, or the same `dvc exp run`, goes on with the next regime"


def test_health_takes_what_is_newer(repository: Path, capsys: Capture) -> None:
    """Scratch that was left behind long ago is not the latest run."""
    long_ago = time.time() - 3600
    for path in only("firehose").iterdir():
        os.utime(path, (long_ago, long_ago))
    assert run("health", capsys=capsys)[1][1].startswith("warmup, step 4,")


def test_health_after_a_checkout_tells_of_the_last_regime(
    repository: Path, capsys: Capture
) -> None:
    """Git and DVC write the reports in any order."""
    shutil.rmtree(scratch.ROOT)
    shutil.copytree("data/reports/warmup", "data/reports/polish")
    os.utime("data/reports/polish/metrics.json", (time.time() - 1, time.time() - 1))
    lines = run("health", capsys=capsys)[1]
    assert lines[0] == "no run is under way; polish is the latest regime that finished"
    assert "goes on" not in lines[-1]


def test_health_before_the_first_run(repository: Path, capsys: Capture) -> None:
    shutil.rmtree(scratch.ROOT)
    shutil.rmtree("data/reports")
    assert run("health", capsys=capsys) == (0, ["no run yet; `dvc repro` starts one"])


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff", b"\x00" * 9, None])
def test_health_without_a_status_that_is_one(
    repository: Path, capsys: Capture, content: bytes | None
) -> None:
    path = only("firehose") / scratch.STATUS
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    status, lines = run("health", capsys=capsys)
    assert status == 1
    assert len(lines) == 4
    expected = f"{path} is no status: " if content is not None else "no row of the history yet"
    assert lines[1].startswith(expected)
    with held(path.parent):
        status, lines = run("health", capsys=capsys)
    assert (status, len(lines)) == (0, 3)


@pytest.mark.parametrize("name", ["metrics.json", "history.csv", "samples.jsonl"])
def test_health_of_damaged_reports(repository: Path, capsys: Capture, name: str) -> None:
    shutil.rmtree(scratch.ROOT)
    Path("data/reports/warmup", name).write_text("{\nx\n")
    assert cli.main(["health"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: data/reports/warmup")
    assert told.err.count("\n") == 1


def test_scratch_lists_what_there_is(repository: Path, capsys: Capture) -> None:
    shutil.copytree(only("firehose"), scratch.ROOT / "polish" / "other")
    (scratch.ROOT / "polish/other/step-000000099-0.refused").write_bytes(b"x" * 3_000_000)
    with held(only("firehose")):
        status, lines = run("scratch", capsys=capsys)
    assert status == 0
    rows = [line.split(maxsplit=4) for line in lines]
    assert rows[0][:4] == ["stage", "key", "step", "MB"]
    assert lines[1].startswith("firehose ")
    assert lines[1].endswith(f"  running, process {os.getpid()}")
    assert rows[1][1] == only("firehose").name
    assert (
        rows[1][2] == rows[2][2] == str(scratch.step_of(scratch.checkpoints(only("firehose"))[-1]))
    )
    assert lines[2].endswith("  unfinished, refused files: 1")
    first, second, total = (float(row[3 if row[0] != "in" else 2]) for row in rows[1:])
    assert second - first == pytest.approx(3, abs=0.11)
    assert first + second == pytest.approx(total, abs=0.11)
    (only("polish") / scratch.FINISHED).write_text("{}")
    assert run("scratch", capsys=capsys)[1][2].endswith("  finished, refused files: 1")


def test_scratch_cleans_what_nobody_holds(repository: Path, capsys: Capture) -> None:
    shutil.copytree(only("firehose"), scratch.ROOT / "polish" / "other")
    (scratch.ROOT / "track").mkdir()
    (scratch.ROOT / "track" / "lock").touch()
    with held(only("firehose")):
        status, lines = run("scratch", "--clean", capsys=capsys)
        assert only("firehose").is_dir()
    assert status == 0
    key = only("firehose").name
    assert lines[0] == f"kept firehose/{key}: process {os.getpid()} trains there"
    assert lines[1].startswith("removed polish/other, ")
    assert lines[1].split()[-2:] == [lines[2].split()[0], "MB"]
    assert not any((scratch.ROOT / "polish").iterdir())
    run("scratch", "--clean", capsys=capsys)
    assert run("scratch", "--clean", capsys=capsys) == (0, ["no scratch"])
    assert run("scratch", capsys=capsys) == (0, ["no scratch"])
    assert (scratch.ROOT / "track" / "lock").exists()


def test_scratch_cleans_one_stage_or_one_folder(repository: Path, capsys: Capture) -> None:
    for name in ("polish/one", "polish/two", "warmup/one"):
        shutil.copytree(only("firehose"), scratch.ROOT / name)
    assert len(run("scratch", "--clean", "polish/one", capsys=capsys)[1]) == 2
    assert only("polish").name == "two"
    run("scratch", "--clean", "polish/", capsys=capsys)
    left = sorted(path.parent.name for path in scratch.ROOT.glob("*/*"))
    assert left == ["firehose", "warmup"]


@pytest.mark.parametrize("which", ["track", "../data", "polish/none", "firehose/..", "x"])
def test_scratch_cleans_nothing_else(repository: Path, capsys: Capture, which: str) -> None:
    before = sorted(repository.rglob("*"))
    assert cli.main(["scratch", "--clean", which]) == 2
    assert capsys.readouterr().err.startswith(f"error: --clean {which}: no such ")
    assert sorted(repository.rglob("*")) == before


def test_scratch_of_the_main_repository(
    repository: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_ROOT", str(repository))
    monkeypatch.chdir(shutil.copytree("data", repository / "inner/data").parent)
    shutil.copy(repository / "params.yaml", ".")
    assert run("scratch", capsys=capsys)[1][1].startswith("firehose ")


def test_track_removes_the_scratch_of_what_is_finished(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("andrea.tracking.replay.track", lambda config: None)
    result = Path("data/checkpoints/warmup") / checkpoint.FILE
    for name, other in (("arrived", result), ("elsewhere", Path("params.yaml"))):
        folder = shutil.copytree(only("firehose"), scratch.ROOT / "warmup" / name)
        scratch.Scratch(folder, {}).finish(other)
    track.track(tree.load(Path("params.yaml")))
    left = sorted(path.relative_to(scratch.ROOT).parts[:2] for path in scratch.ROOT.glob("*/*"))
    assert left == [("firehose", only("firehose").name), ("warmup", "elsewhere")]


def test_they_answer_without_torch(repository: Path) -> None:
    code = (
        "import sys; from andrea.cli import main; main(['health']); main(['scratch']); "
        "sys.exit(not {'torch', 'mlflow', 'pandas'}.isdisjoint(sys.modules))"
    )
    environment: Mapping[str, str] = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("no run is under way; firehose stopped")
