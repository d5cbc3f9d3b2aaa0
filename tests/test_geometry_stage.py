"""The stage `geometry` over a small run that was really trained."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from andrea.common import paths
from andrea.common.errors import UserError
from andrea.common.files import read_json, sha256
from andrea.config import tree
from andrea.config.training import REGIMES
from andrea.config.tree import Config
from andrea.geometry.measure import files, text
from andrea.geometry.measure import run as finished
from andrea.geometry.measure.measure import measure
from andrea.geometry.measure.result import Geometry
from andrea.geometry.terrain.measure import measure as terrain
from andrea.geometry.terrain.measure.surface import loss_on
from andrea.model.gpt import GPT
from andrea.shell.progress import Progress
from andrea.tokens.shards import open_shard
from andrea.tracking import content
from andrea.training import batches, checkpoint, loop, regime, snapshots, state
from andrea.training.start import name_of
from andrea.training.tracker import NullTracker
from stages import documents, shard, tokenizer
from stages.geometry import geometry
from stages.report import report
from tests.conftest import save_params

Params = dict[str, Any]
Files = dict[str, bytes]
ROOT = Path(__file__).parents[1]
FINAL = Path("data/checkpoints/polish") / checkpoint.FILE
PAGE = paths.REPORTS / "report/report.html"


def train(config: Config, names: Sequence[str] = REGIMES) -> None:
    for name in names:
        regime.train(config, name, nullcontext(NullTracker()))


def look(config: Config) -> Geometry:
    return measure(finished.read(config))


def but(config: Config, section: str, **change: Any) -> Config:
    return replace(config, **{section: replace(getattr(config, section), **change)})


@pytest.fixture(scope="module")
def seen(
    build_repository: Callable[[Path], Params], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Config]]:
    """The small repository with a trained run, whose geometry was made; entered."""
    folder = tmp_path_factory.mktemp("seen")
    params = build_repository(folder)
    params["sources"]["dictionary"] = params["sources"].pop("split")  # keeps the order
    params["tokenizer"]["weights"]["dictionary"] = params["tokenizer"]["weights"].pop("split")
    params["polish"]["caps"] = {"dictionary": 0.3}
    params["scales"]["small"]["snapshots"] = 2
    save_params(folder, params)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("DVC_ROOT", raising=False)
        config = tree.read(params)
        for source in config.sources:
            documents.documents(config, source)
        tokenizer.tokenizer(config)
        for source in config.sources:
            shard.shard(config, source)
        train(config)
        geometry(config)
        yield folder, config


def outputs() -> Files:
    return {path.name: path.read_bytes() for path in sorted(paths.GEOMETRY.iterdir())}


def found() -> Geometry:
    file = paths.GEOMETRY / files.FILE
    return files.from_text(file.read_text(encoding="utf-8"), str(file))


def test_again_it_finds_the_same(seen: tuple[Path, Config]) -> None:
    weights = FINAL.read_bytes()
    again = files.to_text(look(seen[1]))
    assert again.encode() == outputs()[files.FILE]
    assert again == files.to_text(found())
    assert FINAL.read_bytes() == weights


@pytest.mark.slow
def test_every_file_has_the_same_bytes_in_another_process(seen: tuple[Path, Config]) -> None:
    runs = []
    for hashing in ("0", "1"):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": hashing}
        for stage in ("geometry", "report"):
            command = [sys.executable, "-m", f"stages.{stage}"]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
        runs.append(outputs() | {PAGE.name: PAGE.read_bytes()})
    assert runs[0] == runs[1]
    assert {"metrics.json", "geometry.json", "report.html", "walk.csv"} <= runs[0].keys()
    assert sum(map(len, runs[0].values())) < 4_000_000
    assert runs[0]["report.html"].startswith(b"<!")


def test_what_it_says_of_the_run(seen: tuple[Path, Config]) -> None:
    facts, config = found().facts, seen[1]
    assert facts.checkpoints == ("initial", "warmup", "firehose", "polish")
    assert facts.end_steps == (0, 4, 23, 40)
    assert facts.sha256[-1] == sha256(FINAL)
    assert facts.sources == tuple(config.sources)
    assert facts.parameters == config.scale.parameters
    assert facts.beginning == "bigram init"


def test_the_beginning_is_the_state_that_the_run_set_out_from(
    seen: tuple[Path, Config], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warmup without a step saves what it began with."""
    config = but(seen[1], "warmup", end=0)
    shutil.copytree("data/shards", tmp_path / "data/shards")
    shutil.copytree("data/tokenizer", tmp_path / "data/tokenizer")
    run = finished.read(seen[1])
    monkeypatch.chdir(tmp_path)
    train(config, ["warmup"])
    model = GPT(config.scale)
    checkpoint.load_weights(Path("data/checkpoints/warmup") / checkpoint.FILE, model)
    for ours, theirs in zip(run.weights["initial"], model.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_tokens_are_counted_as_they_were_read(
    seen: tuple[Path, Config], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Trained once more, noting every batch."""
    total = np.zeros(seen[1].scale.vocabulary, dtype=np.int64)

    def noting(*arguments: Any) -> Any:
        inputs, targets = batches.fetch(*arguments)
        np.add.at(total, inputs.numpy().ravel(), 1)
        return inputs, targets

    counts = found().vectors.counts
    for folder in ("shards", "tokenizer"):
        shutil.copytree(f"data/{folder}", tmp_path / "data" / folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(loop, "batches", SimpleNamespace(fetch=noting, count=batches.count))
    train(seen[1])
    np.testing.assert_array_equal(counts, total)


def test_every_part_was_measured(seen: tuple[Path, Config]) -> None:
    what = found()
    assert len(what.heads.prompts) == len(seen[1].geometry.prompts)
    assert max(prompt.error for prompt in what.heads.prompts) < 1e-5
    assert [(b.checkpoint, b.batch) for b in what.terrain.basins] == [
        ("warmup", "all"), ("firehose", "all"), ("polish", "all"),
        ("firehose", "priority"), ("polish", "priority"),
    ]  # fmt: skip
    assert {judged.against for judged in what.terrain.judgements} == {"firehose"}
    assert [row.source for row in what.terrain.steepness] == list(seen[1].sources)
    assert what.terrain.plane is not None
    assert what.walk.regimes == ("warmup", "firehose", "polish")
    assert set(what.walk.triangles[0].sources) == set(seen[1].sources)
    assert what.losses.step.tolist() == sorted(what.losses.step.tolist())
    assert what.vectors.entries == 0  # the made-up source defines nothing
    assert what.vectors.related == ()


def test_the_path_goes_through_the_snapshots(seen: tuple[Path, Config]) -> None:
    run, ground = finished.read(seen[1]), found().terrain
    assert ground.plane is not None
    assert list(zip(ground.plane_names, ground.plane_steps, strict=True)) == [
        ("initial", 0), ("snapshot", 1), ("snapshot", 2), ("warmup", 4),
        ("snapshot", 10), ("snapshot", 16), ("firehose", 23),
        ("snapshot", 28), ("snapshot", 34), ("polish", 40),
    ]  # fmt: skip
    inputs, targets = text.held_out_of_all(run, run.cfg.batch_rows, run.cfg.batch_tokens)
    for place, step in ((1, 1), (5, 16)):
        [path] = [s.path for s in run.snapshots if s.step == step]
        snapshots.read(path, run.model)
        loss = loss_on(run.model, inputs, targets, 16)()
        assert ground.plane.path_nats[place] == pytest.approx(loss, rel=1e-5)


def test_without_snapshots_the_plane_is_that_of_the_checkpoints(seen: tuple[Path, Config]) -> None:
    run = replace(finished.read(seen[1]), snapshots=())
    what = terrain.measure(run, 0.1, Progress("geometry", 9))
    assert what.plane_names == ("initial", "warmup", "firehose", "polish")
    assert what.plane is not None
    assert len(what.plane.off_plane) == 4


def test_a_damaged_snapshot_is_refused_in_one_line(seen: tuple[Path, Config]) -> None:
    path = finished.read(seen[1]).snapshots[0].path
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(UserError, match=re.escape(str(path))):
        finished.read(seen[1])
    path.write_bytes(whole)


def test_mlflow_is_shown_the_numbers_and_the_page(seen: tuple[Path, Config]) -> None:
    report(seen[1])
    shown = content.read(seen[1])
    numbers = read_json(paths.GEOMETRY / "metrics.json")
    name = "geometry/vectors.effective_rank"
    assert shown.figures[name] == numbers["vectors"]["effective_rank"]
    assert PAGE in shown.artifacts


def keep(file: Path) -> str:
    """Put a checkpoint where a control is looked for, under the name of its content."""
    imported = Path("data/imported") / name_of(sha256(file))
    imported.parent.mkdir(exist_ok=True)
    shutil.copy(file, imported)
    return str(imported)


def controlled(config: Config, control: str) -> Config:
    return but(config, "geometry", control=control)


def test_a_control_is_judged_against(seen: tuple[Path, Config]) -> None:
    """With the run's own last checkpoint there is no difference."""
    run = finished.read(controlled(seen[1], keep(FINAL)))
    assert run.control is not None
    assert run.control_sha256 == sha256(FINAL)
    what = look(controlled(seen[1], keep(FINAL)))
    judged = [one for one in what.terrain.judgements if one.against == "control"]
    assert [one.batch for one in judged] == ["all", "priority"]
    assert {(row.difference, row.answer) for one in judged for row in one.rows} == {
        (0.0, "undecided")
    }
    assert what.terrain.control == sha256(FINAL)
    assert what.terrain.plane_names[-1] == "control"


def test_a_wrong_control_is_refused_in_one_line(seen: tuple[Path, Config]) -> None:
    other = keep(Path("data/checkpoints/firehose") / checkpoint.FILE)
    cases = {
        "data/imported/none.safetensors": "no such file; must be null or a checkpoint in",
        str(FINAL): f"not the content of that name, which belongs in {name_of(sha256(FINAL))}",
        other: "stands at step 23, the run ended at 40",
    }
    for path, reason in cases.items():
        with pytest.raises(UserError) as error:
            finished.read(controlled(seen[1], path))
        assert str(error.value).startswith(f"geometry.control: {path}: {reason}")
        assert "\n" not in str(error.value)


def test_a_control_of_another_shape_is_refused(seen: tuple[Path, Config]) -> None:
    config = seen[1]
    other = state.new(replace(config.scale, d_model=32), config.optimizer, 3, 1, "cpu")
    other.step = 40
    file = Path("data/wide.safetensors")
    facts = checkpoint.read_note(FINAL)["facts"]
    checkpoint.save(file, other, facts | {"scale": facts["scale"] | {"d_model": 32}})
    with pytest.raises(UserError, match="made for d_model 32, the run has 16"):
        finished.read(controlled(config, keep(file)))
    file.unlink()


def test_regimes_without_a_step_leave_parts_out(seen: tuple[Path, Config], tmp_path: Path) -> None:
    """No plane through two points, and nothing fails."""
    config = but(but(seen[1], "warmup", end=0), "firehose", end=1.0)
    config = replace(config, scales={"small": replace(config.scale, snapshots=0)})
    for folder in ("shards", "tokenizer"):
        shutil.copytree(f"data/{folder}", tmp_path / "data" / folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        train(config)
        what = look(config)
    assert what.terrain.plane is None
    assert what.walk.regimes == ("firehose",)
    assert {row.difference for one in what.terrain.judgements for row in one.rows} == {0.0}


def test_held_out_sequences_are_spread_over_the_text(seen: tuple[Path, Config]) -> None:
    run = finished.read(seen[1])
    shard = open_shard(paths.SHARDS / "plain", paths.TOKENIZER)
    inputs, targets = text.held_out(run, "plain", 3, 8)
    assert inputs.shape == targets.shape == (3, 8)
    count = batches.count(shard.val, 8)
    for row, place in enumerate((0, count // 3, 2 * count // 3)):
        expected = shard.val[place * 8 : place * 8 + 9].tolist()
        assert [*inputs[row].tolist(), int(targets[row, -1])] == expected
    everything, _ = text.held_out(run, "plain", 10**6, 8)
    assert len(everything) == count


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"batch_tokens": 30}, ""),
        (
            {"head_rows": 1, "head_tokens": 2},
            "^geometry.head_rows, head_tokens: 5 different tokens",
        ),
        ({"repeats": 40}, "^geometry.repeats: 40 is not allowed, at most 31 fit into a context of"),
        ({"repeat_tokens": 100_000, "repeats": 2}, ""),
        ({"repeat_rows": 2, "frequent_words": 5000, "source_rows": 0, "plane_points": 0}, ""),
    ],
)
def test_what_is_too_much_is_cut_or_refused(
    seen: tuple[Path, Config], change: Params, told: str
) -> None:
    config = but(seen[1], "geometry", **change)
    if told:
        with pytest.raises(UserError, match=told):
            look(config)
    else:
        what = look(config)
        assert len(what.terrain.steepness) == (3 if "source_rows" not in change else 0)
        assert (what.terrain.plane is None) == ("plane_points" in change)


def test_priority_needs_held_out_text(seen: tuple[Path, Config]) -> None:
    run = finished.read(seen[1])
    shard = run.shards["plain"]
    run.shards["plain"] = replace(shard, val=shard.val[:5])
    with pytest.raises(UserError, match=r"^geometry.batch_tokens: 16 is not allowed, the held-out"):
        terrain.measure(run, 0.1, Progress("geometry", 9))
