"""MLflow as a projection of files: real database, real MLflow, a small made-up experiment."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from andrea.common import files, tables
from andrea.config import tree
from andrea.config.tree import Config
from andrea.tracking import content, identity, replay, store
from andrea.tracking.live import live
from andrea.watching import recorded
from andrea.watching.alarms import describe

REPOSITORY = Path(__file__).parents[1]
STEPS = range(10, 40, 10)

# MLflow's own use of its database library.
pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database without runs: making one takes seconds, copying it none."""
    path = tmp_path_factory.mktemp("empty") / "mlflow.db"
    store.prepare(path)
    return path


@pytest.fixture
def config(tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """The shipped parameters, in a folder that holds the files of a finished pipeline."""
    for name in ("DVC_ROOT", "DVC_EXP_NAME", "DVC_EXP_BASELINE_REV", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    shutil.copy(empty_database, tmp_path)
    (tmp_path / "dvc.yaml").write_text(
        "stages:\n  polish:\n    cmd: x\n    deps:\n    - code.py\n    - data/shards\n"
        "  track:\n    cmd: x\n    deps:\n    - shown.py\n"
    )
    (tmp_path / "code.py").write_text("")
    (tmp_path / "shown.py").write_text("")
    for number, name in enumerate(("warmup", "firehose", "polish")):
        write_history(name, history(number))
        write_metrics(name, {"tokens": 7})
    write_metrics("evaluate", {"bpb": {"chat": 1.9, "irc": 2.5}, "note": "text", "macro": 2})
    Path("data/reports/evaluate/samples.md").write_text("Once\n")
    for source in ("chat", "irc"):
        write_manifest(source, {"train": {"tokens": 5}})
    Path("dvc.lock").write_text(
        "stages:\n  polish:\n    outs:\n"
        "    - path: data/checkpoints/polish\n      md5: abc.dir\n"
        "    - path: data/reports/polish\n      md5: def.dir\n"
    )
    return shipped()


def shipped(*changes: str) -> Config:
    return tree.load(REPOSITORY / "params.yaml", changes)


def history(regime: int) -> list[dict[str, float]]:
    return [
        {"step": 100 * regime + s, "loss": 1 / s, "weight.chat": s / 3, "loss.irc": 0.1}
        for s in STEPS
    ]


def write_history(regime: str, rows: list[dict[str, float]]) -> None:
    path = Path("data/reports") / regime / "history.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    tables.write(path, rows, [*rows[0], "loss.ood"])  # a column that nothing fills


def write_metrics(stage: str, values: dict[str, Any]) -> None:
    path = Path("data/reports") / stage / "metrics.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_json(path, values)


def write_manifest(source: str, value: dict[str, Any]) -> None:
    path = Path("data/shards") / source / "manifest.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_json(path, value)


def client() -> MlflowClient:
    return MlflowClient(identity.store_uri())


def runs() -> list[Run]:
    experiment = client().get_experiment_by_name("andrea")
    assert experiment is not None
    return list(client().search_runs([experiment.experiment_id]))


def only_run() -> Run:
    (run,) = runs()
    return run


def curve(run: Run, key: str) -> list[tuple[int, float]]:
    return [(m.step, m.value) for m in client().get_metric_history(run.info.run_id, key)]


def train(config: Config, regime: int = 2, rows: slice = slice(None)) -> None:
    """Log what the history's rows say, as a regime does."""
    name = ("warmup", "firehose", "polish")[regime]
    with live(config, name) as tracker:
        for row in history(regime)[rows]:
            tracker.log(int(row["step"]), {**row, "tokens_per_second": 9.0})


READINGS = (249, 499)  # at the shipped interval


def watch_regime(regime: str = "polish") -> recorded.Recorded:
    """Write what a watch saw, and read it."""
    folder = Path("data/reports") / regime
    folder.joinpath("watch.csv").write_text(
        "step,gradient_outliers,gradient_z,smoothed.chat,probe.chat,gap.chat\n"
        + "".join(f"{step},1,,3.25,3.5,0.25\n" for step in READINGS)
    )
    folder.joinpath("alarms.csv").write_text(
        "step,kind,source,action,shard,positions,nats,median,z,drop,probe_nats,repeats,count,text\n"
        "260,gap,chat,report,,,,,,0.25,,,,\n"
        "499,cliff,irc,report,train.bin,7 8,0.5,3.0,9.5,2.5,,12,,again and again\n"
    )
    samples = [
        {"step": s, "score": x, "original_score": 50, "degenerate": x > 0.5}
        for s in READINGS
        for x in (0.25, 0.75)
    ]
    folder.joinpath("samples.jsonl").write_text("".join(json.dumps(s) + "\n" for s in samples))
    return recorded.read(folder)


def part(seen: recorded.Recorded, upto: int) -> recorded.Recorded:
    """What had been seen after the step `upto`."""
    return recorded.Recorded(
        *([r for r in records if r["step"] <= upto] for records in vars(seen).values())
    )


def assert_watch_complete(run: Run, seen: recorded.Recorded, alarms: int = 2) -> None:
    assert curve(run, "polish/alarms") == [(249, 0), (260, 1), (499, 2)]
    for name, value in (
        ("smoothed.chat", 3.25), ("probe.chat", 3.5), ("gap.chat", 0.25), ("sample_score", 0.5),
        ("gradient_outliers", 1), ("degenerate_share", 0.5), ("sample_original_score", 50),
    ):  # fmt: skip
        assert curve(run, f"polish/{name}") == [(step, value) for step in READINGS]
    assert "polish/gradient_z" not in run.data.metrics
    assert run.data.tags["alarms"] == str(alarms)
    assert run.data.tags["alarm.last"] == describe(seen.alarms[-1])


def assert_complete(run: Run) -> None:
    """Everything that the files say is in the run, once."""
    assert run.info.status == "FINISHED"
    for number, name in enumerate(("warmup", "firehose", "polish")):
        for key in ("loss", "weight.chat", "loss.irc"):
            expected = [(int(row["step"]), row[key]) for row in history(number)]
            assert curve(run, f"{name}/{key}") == expected
        assert f"{name}/loss.ood" not in run.data.metrics
        assert f"{name}/step" not in run.data.metrics
        assert run.data.metrics[f"{name}/tokens"] == 7
    assert run.data.metrics["evaluate/bpb.chat"] == 1.9
    assert run.data.metrics["evaluate/macro"] == 2
    assert "evaluate/note" not in run.data.metrics


def test_track_writes_one_full_row(config: Config, tmp_path: Path) -> None:
    replay.track(config)
    run = only_run()
    assert_complete(run)
    assert run.info.run_name == f"repro-{identity.identify(config).key[:8]}"
    assert run.data.params["polish.floor"] == "0.7"
    assert run.data.params["scales.laptop.d_model"] == str(config.scale.d_model)
    assert run.data.params["sources"].startswith("hermes3-general, hermes3-creative, ")
    assert run.data.params["limits.allow_repeats"] == "false"
    assert not any(key.startswith(("scales.tiny", "sources.")) for key in run.data.params)
    assert run.data.tags["checkpoint.polish"] == "abc.dir"
    assert run.data.tags["scale"] == "laptop"
    assert run.data.tags["version.torch"]
    assert run.inputs
    found = {(i.dataset.name, i.dataset.digest) for i in run.inputs.dataset_inputs}
    digests = {s: files.sha256(Path(f"data/shards/{s}/manifest.json")) for s in ("chat", "irc")}
    assert found == {(source, digest[:32]) for source, digest in digests.items()}
    artifacts = tmp_path / "mlartifacts" / run.info.run_id / "artifacts"
    assert (artifacts / "evaluate" / "samples.md").read_text() == "Once\n"
    assert (artifacts / "polish" / "history.csv").is_file()


def test_the_second_track_does_nothing(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    replay.track(config)
    before = only_run()
    monkeypatch.setattr(store, "open_run", lambda *_: pytest.fail("opened"))
    replay.track(config)
    monkeypatch.setenv("DVC_EXP_NAME", "half")
    with pytest.raises(pytest.fail.Exception, match="opened"):
        replay.track(config)
    assert only_run().info.end_time == before.info.end_time


def test_a_plain_repro_of_what_an_experiment_showed_adds_no_row(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "half")
    monkeypatch.setenv("DVC_EXP_BASELINE_REV", "1" * 40)
    replay.track(config)
    assert only_run().info.run_name == "half"
    assert only_run().data.tags["mlflow.source.git.commit"] == "1" * 40
    monkeypatch.delenv("DVC_EXP_NAME")
    replay.track(config)
    assert only_run().info.run_name == "half"


def test_new_content_goes_to_the_same_run(config: Config) -> None:
    replay.track(config)
    write_metrics("evaluate", {"macro": 1.5, "bpb": {"chat": 1.9}})
    replay.track(config)
    run = only_run()
    assert run.data.metrics["evaluate/macro"] == 1.5
    assert curve(run, "evaluate/bpb.chat") == [(0, 1.9)]
    assert curve(run, "warmup/loss") == [(int(r["step"]), r["loss"]) for r in history(0)]


def test_a_deleted_database_is_rebuilt_but_for_clock_figures(
    config: Config,
    tmp_path: Path,
    empty_database: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train(config)
    replay.track(config)
    assert only_run().data.metrics["polish/tokens_per_second"] == 9
    assert_complete(only_run())
    stamp = replay.stamp_path(identity.identify(config).key)
    assert store.holds(identity.store_uri(), files.read_json(stamp)["run"])
    shutil.copy(empty_database, "mlflow.db")
    assert not store.holds(identity.store_uri(), files.read_json(stamp)["run"])
    Path("mlflow.db").unlink()
    assert not store.holds(identity.store_uri(), files.read_json(stamp)["run"])
    # MLflow keeps a deleted file open, so this process goes on under another path.
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    monkeypatch.chdir(moved)
    shutil.copy(empty_database, "mlflow.db")
    replay.track(config)
    assert_complete(only_run())
    assert "polish/tokens_per_second" not in only_run().data.metrics


def test_a_live_run_is_running_and_has_its_parameters(config: Config) -> None:
    train(config, regime=0)
    run = only_run()
    assert run.info.status == "RUNNING"
    assert run.data.params["polish.floor"] == "0.7"
    assert curve(run, "warmup/loss") == [(int(r["step"]), r["loss"]) for r in history(0)]


def test_interrupted_and_resumed_points_stand_once(config: Config) -> None:
    with pytest.raises(KeyboardInterrupt), live(config, "polish") as tracker:
        tracker.log(210, {"loss": 1 / 10, "weight.chat": 10 / 3, "loss.irc": 0.1})
        raise KeyboardInterrupt
    assert only_run().info.status == "FAILED"
    train(config, rows=slice(2))
    assert only_run().info.status == "RUNNING"
    replay.track(config)
    assert_complete(only_run())


def test_what_the_watch_saw_is_shown_from_files(config: Config, tmp_path: Path) -> None:
    seen = watch_regime()
    replay.track(config)
    run = only_run()
    assert_complete(run)
    assert_watch_complete(run, seen)
    assert run.data.tags["alarm.kinds"] == "cliff 1, gap 1"
    artifacts = tmp_path / "mlartifacts" / run.info.run_id / "artifacts" / "polish"
    for name in ("watch.csv", "alarms.csv", "samples.jsonl"):
        assert (
            artifacts.joinpath(name).read_bytes() == Path("data/reports/polish", name).read_bytes()
        )


@pytest.mark.usefixtures("config")
def test_without_a_watch_there_is_no_tag() -> None:
    replay.track(shipped("watch.enabled=false"))
    assert "alarms" not in only_run().data.tags


def test_what_the_watch_sees_is_shown_while_it_trains(config: Config) -> None:
    """With the alarms of the regimes before; one that halts the run is shown too."""
    watch_regime("firehose")
    seen = watch_regime()
    with pytest.raises(RuntimeError, match="halt"), live(config, "polish") as tracker:
        tracker.log_watch(part(seen, -1), 0)
        for step in (249, 260, 499):
            tracker.log_watch(part(seen, step), step)
        raise RuntimeError("halt")
    run = only_run()
    assert run.info.status == "FAILED"
    assert_watch_complete(run, seen, alarms=4)
    assert run.data.tags["alarm.kinds"] == "cliff 2, gap 2"


def test_after_a_resume_nothing_stands_twice_and_nothing_is_missing(
    config: Config,
) -> None:
    """The store got the first rows, a checkpoint holds more, and some steps are trained again.

    Rows of the history and of the watch stand at the same step.
    """
    seen = watch_regime()
    rows = [{"step": step, "loss": step / 7, "lr": 0.1} for step in (29, 249, 299, 499)]
    rows[2]["loss"] = float("nan")

    def log(chosen: slice, upto: int, since: int) -> None:
        with live(config, "polish") as tracker:
            for row in rows[chosen]:
                tracker.log(int(row["step"]), {**row, "tokens_per_second": time.monotonic()})
            tracker.log_watch(part(seen, upto), since)

    log(slice(2), 249, 0)
    log(slice(1, 3), 260, 249)  # trained again from step 30 on
    log(slice(4), 499, 0)  # begins with all that its checkpoint holds
    run = only_run()
    assert_watch_complete(run, seen)
    assert curve(run, "polish/loss") == [(s, s / 7) for s in (29, 249, 499)]
    for key in ("polish/lr", "polish/tokens_per_second"):
        assert [step for step, _ in curve(run, key)] == [29, 249, 299, 499]


def test_a_value_that_the_files_correct_wins(config: Config) -> None:
    with live(config, "polish") as tracker:
        tracker.log(230, {"loss": 123.0})
        tracker.log(220, {"loss": float("nan")})
    replay.track(config)
    run = only_run()
    assert run.data.metrics["polish/loss"] == pytest.approx(1 / 30)
    assert len(curve(run, "polish/loss")) == len(STEPS) + 1


def test_live_after_track_opens_the_run_again(config: Config) -> None:
    replay.track(config)
    train(config)
    assert only_run().info.status == "RUNNING"
    replay.track(config)
    assert_complete(only_run())


@pytest.mark.usefixtures("config")
def test_what_makes_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    typed: list[str] = []

    def key() -> str:
        return identity.identify(shipped(*typed)).key

    seen = {key()}

    def changes(change: Callable[[], object] | str, *, expected: bool) -> None:
        typed.append(change) if isinstance(change, str) else change()
        assert (key() not in seen) == expected
        seen.add(key())

    changes(lambda: Path("code.py").write_text("pass"), expected=True)
    changes(lambda: Path("shown.py").write_text("pass"), expected=False)
    changes(lambda: write_manifest("chat", {"train": {"tokens": 6}}), expected=True)
    changes("polish.floor=0.5", expected=True)
    changes("scales.tiny.d_model=64", expected=False)
    changes("scales.laptop.d_model=48", expected=True)
    changes("track.experiment=other", expected=False)
    changes(lambda: monkeypatch.setenv("DVC_EXP_NAME", "half"), expected=True)
    changes(lambda: monkeypatch.setenv("DVC_EXP_BASELINE_REV", "1"), expected=True)
    changes("polish.floor=0.6", expected=True)
    changes(lambda: Path("code.py").write_text("edited while it runs"), expected=False)


def test_the_store_stands_in_the_main_repository(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / ".dvc" / "tmp" / "exps" / "copy"
    shutil.copytree(tmp_path / "data", copy / "data")
    monkeypatch.chdir(copy)
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    replay.track(config)
    assert only_run().info.artifact_uri.startswith((tmp_path / "mlartifacts").as_uri())
    assert {path.name for path in copy.iterdir()} == {"data"}


@pytest.mark.parametrize("use", ["live", "track"])
def test_a_server_that_is_down_gives_one_warning(
    use: str,
    config: Config,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://name:secret@127.0.0.1:9")
    started = time.monotonic()
    train(config) if use == "live" else replay.track(config)
    assert time.monotonic() - started < 10
    assert_one_warning(capfd.readouterr().err)
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    replay.track(config)
    assert_complete(only_run())


def assert_one_warning(text: str) -> None:
    (line,) = text.splitlines()
    assert line.startswith("warning: MLflow at ")
    assert "secret" not in line


def test_logging_does_not_wait_for_the_store(
    config: Config, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = threading.Event()

    def hang(*_: object) -> None:
        answer.wait()
        raise TimeoutError

    monkeypatch.setattr(store, "open_run", hang)
    monkeypatch.setattr("andrea.tracking.live.EXIT_SECONDS", 0.2)
    started = time.monotonic()
    with live(config, "polish") as tracker:
        for step in range(1000):
            tracker.log(step, {"loss": 1.0})
        assert time.monotonic() - started < 1
    assert time.monotonic() - started < 2
    assert_one_warning(capfd.readouterr().err)
    answer.set()
    for thread in threading.enumerate():
        if thread.name == "mlflow":
            thread.join()


def test_a_database_that_cannot_be_opened_gives_one_warning(
    config: Config, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mlflow.db").unlink()
    (tmp_path / "mlflow.db").mkdir()
    train(config)
    assert_one_warning(capfd.readouterr().err)
    replay.track(config)
    assert_one_warning(capfd.readouterr().err)


def test_a_locked_database_is_tried_again(
    config: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("andrea.tracking.live.RETRY_SECONDS", 0.1)
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(tmp_path / "mlflow.db", isolation_level=None)) as other:
        other.execute("begin exclusive")
        with live(config, "polish") as tracker:
            tracker.log(210, {"loss": 0.1})
            time.sleep(0.5)
            other.execute("rollback")
            time.sleep(0.5)
    assert_one_warning(capfd.readouterr().err)
    assert curve(only_run(), "polish/loss") == [(210, 0.1)]


def test_a_server_that_goes_and_comes_back_misses_nothing(
    config: Config, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("RETRY_SECONDS", "SEND_SECONDS"):
        monkeypatch.setattr(f"andrea.tracking.live.{name}", 0.02)
    add_rows = store.Run.add_rows
    gone, refused, added = threading.Event(), threading.Event(), threading.Event()

    def answer(run: store.Run, rows: Any) -> None:
        if gone.is_set():
            refused.set()
            raise ConnectionError("refused")
        add_rows(run, rows)
        if rows:
            added.set()

    def shown() -> list[int]:
        return [step for step, _ in curve(only_run(), "polish/loss")]

    monkeypatch.setattr(store.Run, "add_rows", answer)
    with live(config, "polish") as tracker:
        tracker.log(0, {"loss": 0.5})
        assert added.wait(30)
        gone.set()
        for step in range(1, 5):
            tracker.log(step, {"loss": 0.5})
        assert refused.wait(30)
        assert shown() == [0]
        added.clear()
        gone.clear()
        assert added.wait(30)
        tracker.log(5, {"loss": 0.5})
    assert shown() == [0, 1, 2, 3, 4, 5]
    assert_one_warning(capfd.readouterr().err)
    assert only_run().info.status == "RUNNING"


def run_python(code: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment},
        stderr=subprocess.PIPE,
        text=True,
    )


TRACK = f"""
from pathlib import Path
from andrea.config import tree
from andrea.tracking import replay
replay.track(tree.load(Path({str(REPOSITORY / "params.yaml")!r})))
"""


@pytest.mark.slow
def test_a_full_disk_gives_one_warning_and_no_half_database(config: Config) -> None:
    Path("mlflow.db").unlink()
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
    process = run_python(limit + TRACK)
    assert_one_warning(process.communicate()[1])
    assert process.returncode == 0
    assert not Path("mlflow.db").exists()


def test_a_track_with_nothing_to_do_imports_no_mlflow(config: Config) -> None:
    replay.track(config)
    check = "import sys; assert 'mlflow' not in sys.modules and 'torch' not in sys.modules"
    process = run_python(TRACK + check)
    assert process.communicate()[1] == ""
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
def test_two_first_users_make_one_database_and_one_run(config: Config, attempt: int) -> None:
    Path("mlflow.db").unlink()
    both = [run_python(TRACK) for _ in range(2)]
    assert [process.communicate()[1] for process in both] == ["", ""]
    assert_complete(only_run())


def test_manifest_is_the_profile(config: Config) -> None:
    chat = next(d for d in content.read(config).datasets if d.name == "chat")
    assert json.loads(chat.profile) == {"train": {"tokens": 5}}
    assert chat.source == "data/raw/chat/train.jsonl.gz"
    assert len(chat.digest) <= 36
