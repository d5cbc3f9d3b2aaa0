"""A run that cannot be lost: stage processes that are killed, or that fail, at any place."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from andrea.scratch.folder import checkpoints, step_of
from tests.conftest import SOURCES, Params, save_params
from tests.faults import ROOT, STEP, End, Fault, Stages, remove_outs, results

REGIMES = {"warmup": (0, 10), "firehose": (10, 24), "polish": (24, 40)}  # first and last step
EVERY = 5  # steps between checkpoints
DOCUMENTS = [f"documents {source}" for source in SOURCES]
SHARDS = [f"shard {source}" for source in SOURCES]


def slow(*values: Any) -> Any:
    """A case of a test that is fast otherwise."""
    return pytest.param(*values, marks=pytest.mark.slow)


class Whole:
    """A run that nothing disturbed: its bytes, its events, and what each regime found."""

    def __init__(self, folder: Path, stages: Stages, params: Params) -> None:
        self.params = params
        self.events: dict[str, list[str]] = {}
        self._found: dict[str, Path] = {}
        for stage in (*DOCUMENTS, "tokenizer", *SHARDS):
            assert stages(folder, stage).status == 0
        for regime in REGIMES:
            self._found[regime] = folder.with_name(regime)
            shutil.copytree(folder, self._found[regime])
            ended = stages(folder, regime)
            assert ended.status == 0, ended.err
            self.events[regime] = ended.events
        self.results = results(folder)

    def before(self, regime: str, at: Path) -> Path:
        """A copy of the repository as the regime found it."""
        return Path(shutil.copytree(self._found[regime], at / f"{regime}-{time.monotonic_ns()}"))

    def of(self, regime: str) -> dict[str, bytes]:
        """The results of one regime."""
        return {name: text for name, text in self.results.items() if f"/{regime}/" in name}

    def number(self, regime: str, name: str, which: int = 0) -> int:
        """Number of an event, by its name."""
        return [n for n, seen in enumerate(self.events[regime]) if seen == name][which]


@pytest.fixture(scope="module")
def stages() -> Iterator[Stages]:
    with Stages() as started:
        yield started


@pytest.fixture(scope="module")
def whole(
    stages: Stages,
    build_repository: Callable[[Path], Params],
    tmp_path_factory: pytest.TempPathFactory,
) -> Whole:
    folder = tmp_path_factory.mktemp("whole") / "whole"
    params = build_repository(folder)
    params["warmup"]["end"], params["firehose"]["end"] = 0.25, 0.6
    params["scratch"]["checkpoint_every"] = EVERY
    save_params(folder, params)
    return Whole(folder, stages, params)


def saved(folder: Path, regime: str) -> list[int]:
    """Steps of the scratch checkpoints that are there."""
    found = [p for key in (folder / ".scratch" / regime).glob("*/") for p in checkpoints(key)]
    return sorted(map(step_of, found))


def assert_same(folder: Path, regime: str, whole: Whole) -> None:
    """Not one byte of the results differs from the run that nothing disturbed."""
    found = {name: text for name, text in results(folder).items() if f"/{regime}/" in name}
    assert found.keys() == whole.of(regime).keys()
    assert [name for name in found if found[name] != whole.of(regime)[name]] == []


def one_error(ended: End) -> str:
    """The one line that tells what is wrong."""
    assert ended.status == 2, (ended.status, ended.err)
    assert "Traceback" not in ended.err
    (line,) = (line for line in ended.err.splitlines() if line.startswith("error: "))
    return line


def went_on_from(ended: End) -> int | None:
    found = re.search(r"goes on from step (\d+)", ended.out)
    return int(found[1]) if found else None


def kill(stages: Stages, whole: Whole, folder: Path, regime: str, event: int) -> None:
    """Kill the regime at an event, run it again as DVC does, and see that nothing was lost."""
    first, last = REGIMES[regime]
    before = whole.events[regime][:event]
    done = max([int(name.split()[1]) + 1 for name in before if name.startswith(STEP)] or [first])
    if whole.events[regime][event].startswith(STEP):
        done += 1
    ended = stages(folder, regime, Fault("kill", event))
    assert ended.status == -signal.SIGKILL
    newest = max(saved(folder, regime), default=first)
    assert done - newest <= EVERY
    remove_outs(folder, regime)
    again = stages(folder, regime)
    assert again.status == 0, again.err
    assert went_on_from(again) == (newest if newest > first else None)
    trained = [name for name in again.events if name.startswith(STEP)]
    assert trained == [f"{STEP} {step}" for step in range(newest, last)]
    assert_same(folder, regime, whole)
    assert [p.name for p in (folder / ".scratch").rglob("*") if ".tmp" in p.name] == []


@pytest.mark.parametrize(
    ("regime", "name", "which"),
    [
        ("warmup", "half of save_file", 0),
        ("firehose", "replace", 3),
        ("polish", "half of write_text metrics.json", 0),
        ("polish", "end", 0),
    ],
)
def test_a_killed_regime_ends_with_the_same_bytes(
    stages: Stages, whole: Whole, tmp_path: Path, regime: str, name: str, which: int
) -> None:
    folder = whole.before(regime, tmp_path)
    kill(stages, whole, folder, regime, whole.number(regime, name, which))


@pytest.mark.slow
@pytest.mark.parametrize("regime", REGIMES)
def test_killed_at_every_step_write_and_rename(
    stages: Stages, whole: Whole, tmp_path: Path, regime: str
) -> None:
    assert len(whole.events[regime]) > 40
    for event in range(len(whole.events[regime])):
        folder = whole.before(regime, tmp_path)
        kill(stages, whole, folder, regime, event)
        shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_killed_again_and_again_over_all_regimes(
    stages: Stages, whole: Whole, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    folder = whole.before("warmup", tmp_path)
    kills = 0
    for regime in REGIMES:
        for _ in range(5):
            ended = stages(folder, regime, Fault("kill", rng.randrange(40)))
            kills += ended.status == -signal.SIGKILL
            remove_outs(folder, regime)
        assert stages(folder, regime).status == 0
        assert_same(folder, regime, whole)
    assert kills > 8
    assert results(folder) == whole.results


@pytest.mark.slow
def test_processes_of_their_own_give_these_bytes_too(whole: Whole, tmp_path: Path) -> None:
    """With MLflow, without anything patched."""
    folder = whole.before("warmup", tmp_path)
    for regime in REGIMES:
        subprocess.run(
            [sys.executable, "-m", f"stages.{regime}"],
            cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True,
        )  # fmt: skip
    assert results(folder) == whole.results


@pytest.mark.parametrize(("name", "status"), [("SIGTERM", 143), slow("SIGINT", 130)])
def test_a_signal_ends_the_step_and_saves(
    stages: Stages, whole: Whole, tmp_path: Path, name: str, status: int
) -> None:
    folder = whole.before("firehose", tmp_path)
    ended = stages(folder, "firehose", Fault(name, 16))
    assert ended.status == status
    assert saved(folder, "firehose") == [15, 17]
    (line,) = (line for line in ended.err.splitlines() if "stopped" in line)
    assert f"stopped by {name} after 17 steps; the same command goes on from" in line
    assert "step-000000017" in line
    again = stages(folder, "firehose")
    assert went_on_from(again) == 17
    assert_same(folder, "firehose", whole)


def test_a_second_interrupt_stops_at_once_and_the_first_on_the_last_step_changes_nothing(
    stages: Stages, whole: Whole, tmp_path: Path
) -> None:
    folder = whole.before("firehose", tmp_path)
    ended = stages(folder, "firehose", Fault("SIGINT", 16), Fault("SIGINT", 16))
    assert ended.status == -signal.SIGINT
    assert saved(folder, "firehose") == [15]
    assert stages(folder, "firehose", Fault("SIGINT", 23)).status == 0
    assert_same(folder, "firehose", whole)


def test_a_checkpoint_on_demand_changes_nothing(
    stages: Stages, whole: Whole, tmp_path: Path
) -> None:
    folder = whole.before("firehose", tmp_path)
    ended = stages(folder, "firehose", Fault("SIGUSR1", 16))
    assert ended.status == 0
    assert ended.events[ended.events.index(f"{STEP} 16") + 1] == "save_file"
    assert_same(folder, "firehose", whole)


def test_a_second_trainer_is_refused(stages: Stages, whole: Whole, tmp_path: Path) -> None:
    folder = whole.before("firehose", tmp_path)
    first = stages.start(folder, "firehose", Fault("wait", 16))
    limit = time.monotonic() + 60
    while not (folder / "waits").exists():
        assert time.monotonic() < limit
        time.sleep(0.01)
    line = one_error(stages(folder, "firehose"))
    assert f"process {first} trains firehose from the same inputs already" in line
    os.kill(first, signal.SIGUSR2)
    assert stages.end(folder, first).status == 0
    assert_same(folder, "firehose", whole)


def change(folder: Path, params: Params, path: str, value: Any) -> Params:
    """Write the parameters with one of them changed."""
    changed = json.loads(json.dumps(params))
    *sections, name = path.split(".")
    place = changed
    for section in sections:
        place = place[section]
    place[name] = value
    save_params(folder, changed)
    return changed


def test_unfinished_work_of_other_inputs_is_named_and_kept(
    stages: Stages, whole: Whole, tmp_path: Path
) -> None:
    folder = whole.before("firehose", tmp_path)
    assert stages(folder, "firehose", Fault("SIGTERM", 16)).status == 143
    (old,) = (folder / ".scratch/firehose").iterdir()
    (old / "inputs.json").write_text("{")
    change(folder, whole.params, "optimizer.grad_clip", 0.5)
    ended = stages(folder, "firehose", Fault("SIGTERM", 12))
    assert f"unfinished work in .scratch/firehose/{old.name} is of other inputs" in ended.err
    assert "inputs.json cannot be read" in ended.err
    save_params(folder, whole.params)
    assert went_on_from(stages(folder, "firehose", Fault("SIGTERM", 18))) == 17  # mends inputs.json
    change(folder, whole.params, "optimizer.grad_clip", 0.25)
    ended = stages(folder, "firehose")
    assert "optimizer.grad_clip: 1.0, now 0.25" in ended.err
    assert "optimizer.grad_clip: 0.5, now 0.25" in ended.err
    assert went_on_from(ended) is None
    save_params(folder, whole.params)
    assert went_on_from(stages(folder, "firehose")) == 19
    assert_same(folder, "firehose", whole)


@pytest.mark.parametrize("damaged", [1, slow(2)])
def test_a_damaged_checkpoint_is_refused_and_the_one_before_is_taken(
    stages: Stages, whole: Whole, tmp_path: Path, damaged: int
) -> None:
    folder = whole.before("firehose", tmp_path)
    assert stages(folder, "firehose", Fault("SIGTERM", 16)).status == 143
    (key,) = (folder / ".scratch/firehose").iterdir()
    names = []
    for path in checkpoints(key)[-damaged:]:
        text = bytearray(path.read_bytes())
        text[-1] ^= 1
        path.write_bytes(text)
        names.append(path.name)
    ended = stages(folder, "firehose")
    refused = [line for line in ended.err.splitlines() if line.startswith("refused: ")]
    assert [line.split(": ")[1].rsplit("/")[-1] for line in refused] == names[::-1]
    assert sorted(path.stem for path in key.glob("*.refused")) == [n[:-12] for n in names]
    assert went_on_from(ended) == (15 if damaged == 1 else None)
    assert_same(folder, "firehose", whole)


def test_a_folder_that_cannot_be_made_is_told_in_one_line(
    stages: Stages, whole: Whole, tmp_path: Path
) -> None:
    folder = whole.before("firehose", tmp_path)
    (folder / ".scratch/firehose").touch()
    assert ".scratch/firehose" in one_error(stages(folder, "firehose"))


def fail(stages: Stages, whole: Whole, folder: Path, regime: str, event: int) -> End:
    """Fail a call of the regime; whatever comes of it, the same command mends it."""
    ended = stages(folder, regime, Fault("error", event))
    if ended.status == 0:
        assert "Traceback" not in ended.err
    else:
        assert "No space left" in one_error(ended)
        remove_outs(folder, regime)
        newest = max(saved(folder, regime), default=None)
        again = stages(folder, regime)
        assert again.status == 0, again.err
        assert went_on_from(again) == newest
    assert_same(folder, regime, whole)
    return ended


@pytest.mark.parametrize(
    ("name", "which", "status", "told"),
    [
        ("mkdir", 0, 2, "no place for checkpoints"),
        ("half of save_file", 0, 0, "warning: no checkpoint at step 15"),
        slow("half of write_text status.json.part", 0, 0, "no status written"),
        ("half of save_file", -1, 2, "the same command goes on from .scratch/firehose/"),
        slow("half of write_text finished.json.part", 0, 2, "the same command goes on from"),
    ],
)
def test_a_full_disk_is_told_and_nothing_is_lost(
    stages: Stages, whole: Whole, tmp_path: Path, name: str, which: int, status: int, told: str
) -> None:
    folder = whole.before("firehose", tmp_path)
    ended = fail(stages, whole, folder, "firehose", whole.number("firehose", name, which))
    assert ended.status == status
    assert told in ended.err


@pytest.mark.slow
def test_a_full_disk_at_every_write(stages: Stages, whole: Whole, tmp_path: Path) -> None:
    """Of the regime that does everything: it begins, goes on from another and is gone on from."""
    for event, name in enumerate(whole.events["firehose"]):
        if not name.startswith((STEP, "end")):
            folder = whole.before("firehose", tmp_path)
            fail(stages, whole, folder, "firehose", event)
            shutil.rmtree(folder)


def test_no_file_may_grow_large(stages: Stages, whole: Whole, tmp_path: Path) -> None:
    """A real limit of the system: no scratch checkpoint fits, nor does the last one."""
    folder = whole.before("firehose", tmp_path)
    line = one_error(ended := stages(folder, "firehose", largest_file=100_000))
    assert ended.err.count("warning: no checkpoint at step") == 3
    assert "File too large" in line
    assert saved(folder, "firehose") == []
    assert stages(folder, "firehose").status == 0
    assert_same(folder, "firehose", whole)


@pytest.mark.slow
def test_a_disk_that_is_full(stages: Stages, whole: Whole, tmp_path: Path) -> None:
    """A real small disk for the scratch folder, then for the results."""
    folder = whole.before("firehose", tmp_path)
    with small_disk(folder / ".scratch", 400):
        ended = stages(folder, "firehose")
        assert ended.status == 0, ended.err
        assert "warning: no checkpoint at step" in ended.err
        assert_same(folder, "firehose", whole)
    remove_outs(folder, "firehose")
    (folder / "data/checkpoints/firehose.part").mkdir()
    with small_disk(folder / "data/reports", 4):
        line = one_error(stages(folder, "firehose"))
        assert "No space left" in line
    again = stages(folder, "firehose")
    assert went_on_from(again) == REGIMES["firehose"][1]
    assert_same(folder, "firehose", whole)


class small_disk:  # noqa: N801
    """A file system of so many KiB at `folder` while the block runs."""

    def __init__(self, folder: Path, kibibytes: int) -> None:
        self._folder, self._size = folder, kibibytes

    def __enter__(self) -> None:
        self._folder.mkdir(exist_ok=True)
        options = f"size={self._size}k"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "none", self._folder],
            capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            pytest.skip(f"no file system may be mounted here: {done.stderr.strip()}")

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", self._folder], check=True)


@pytest.mark.parametrize(
    "kind", ["cpu memory", *(slow(kind) for kind in ("cuda memory", "python memory"))]
)
def test_no_memory_is_told_in_one_line(
    stages: Stages, whole: Whole, tmp_path: Path, kind: str
) -> None:
    folder = whole.before("firehose", tmp_path)
    line = one_error(stages(folder, "firehose", Fault(kind, 16)))
    assert "out of memory on cpu; lower scales.*.micro_batch" in line
    assert went_on_from(stages(folder, "firehose")) == 15
    assert_same(folder, "firehose", whole)


def test_an_error_of_the_code_is_no_users_mistake(
    stages: Stages, whole: Whole, tmp_path: Path
) -> None:
    folder = whole.before("firehose", tmp_path)
    ended = stages(folder, "firehose", Fault("other error", 16))
    assert ended.status == 1
    assert "RuntimeError: shapes do not fit" in ended.err


def test_a_shard_that_disappears_under_a_run(stages: Stages, whole: Whole, tmp_path: Path) -> None:
    """What is mapped stays readable; the next run asks for the file."""
    folder = whole.before("firehose", tmp_path)
    kept = (folder / "data/shards/plain/train.bin").read_bytes()
    ended = stages(folder, "firehose", Fault("delete shard", 16), Fault("SIGTERM", 18))
    assert ended.status == 143
    assert "data/shards/plain" in one_error(stages(folder, "firehose"))
    (folder / "data/shards/plain/train.bin").write_bytes(kept)
    assert went_on_from(stages(folder, "firehose")) == 19
    assert_same(folder, "firehose", whole)


@pytest.mark.slow
def test_a_shard_that_is_cut_under_a_run_kills_it(
    stages: Stages, whole: Whole, tmp_path: Path
) -> None:
    """The system ends a process that reads beyond a mapped file; what was saved goes on."""
    folder = whole.before("firehose", tmp_path)
    kept = {path: path.read_bytes() for path in folder.glob("data/shards/*/train.bin")}
    ended = stages(folder, "firehose", Fault("truncate shard", 16))
    assert ended.status == -signal.SIGBUS
    assert "data/shards/" in one_error(stages(folder, "firehose"))
    for path, text in kept.items():
        path.write_bytes(text)
    assert went_on_from(stages(folder, "firehose")) == 15
    assert_same(folder, "firehose", whole)


def test_three_steps_that_are_not_finite_leave_their_batch(
    stages: Stages, whole: Whole, tmp_path: Path
) -> None:
    folder = whole.before("firehose", tmp_path)
    line = one_error(stages(folder, "firehose", broken=(16, 40)))
    assert "third time in a row" in line
    (path,) = (folder / ".scratch/firehose").glob("*/batch-step-18.json")
    assert line.endswith(f"the batch is in {path.relative_to(folder)}")
    batch = json.loads(path.read_text())
    assert len(batch) == whole.params["scales"]["small"]["micro_batch"]
    for row in batch:
        assert row.keys() == {"source", "position", "epoch", "text"}
        assert row["source"] in SOURCES
        assert "river" in row["text"] or len(row["text"]) > 30
    assert stages(folder, "firehose").status == 0
    assert_same(folder, "firehose", whole)


def test_two_steps_that_are_not_finite_are_skipped_and_told(
    stages: Stages, whole: Whole, tmp_path: Path
) -> None:
    folder = whole.before("firehose", tmp_path)
    ended = stages(folder, "firehose", broken=(16, 18))
    assert ended.status == 0
    assert ended.err.count("alarm: ") == 1
    metrics = json.loads((folder / "data/reports/firehose/metrics.json").read_text())
    assert metrics["skipped_steps"] == 2
    table = (folder / "data/reports/firehose/alarms.csv").read_text().splitlines()
    alarms = list(csv.DictReader(table))
    assert [(row["step"], row["kind"]) for row in alarms] == [("16", "skipped"), ("17", "skipped")]


@pytest.mark.slow
def test_steps_that_are_not_finite_are_counted_across_a_stop(
    stages: Stages, whole: Whole, tmp_path: Path
) -> None:
    straight, stopped = (whole.before("firehose", tmp_path) for _ in range(2))
    assert stages(straight, "firehose", broken=(16, 18)).status == 0
    assert stages(stopped, "firehose", Fault("SIGTERM", 16), broken=(16, 18)).status == 143
    again = stages(stopped, "firehose", broken=(16, 18))
    assert went_on_from(again) == 17
    assert results(stopped) == results(straight)
    third = whole.before("firehose", tmp_path)
    assert stages(third, "firehose", Fault("SIGTERM", 17), broken=(16, 40)).status == 143
    assert "third time in a row" in one_error(stages(third, "firehose", broken=(16, 40)))


def test_watched_or_not_a_run_has_the_same_weights(
    stages: Stages, whole: Whole, tmp_path: Path
) -> None:
    folder = whole.before("warmup", tmp_path)
    change(folder, whole.params, "watch.enabled", False)
    for regime in REGIMES:
        assert stages(folder, regime).status == 0
        name = f"data/checkpoints/{regime}/checkpoint.safetensors"
        (watched := tmp_path / regime).write_bytes(whole.results[name])
        unwatched = load_file(folder / name)
        for tensor, weights in load_file(watched).items():
            assert weights.tobytes() == unwatched[tensor].tobytes()
