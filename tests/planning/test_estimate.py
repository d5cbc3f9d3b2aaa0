"""What a plan says of the given runs, and of a small one."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from andrea.common.errors import UserError
from andrea.config import tree
from andrea.config.override import override
from andrea.config.tree import Config
from andrea.planning import table
from andrea.planning.estimate import Length, missing_files, plan, read_lengths, refuse
from andrea.planning.speed import Speed, measure

Params = dict[str, Any]
ABSENT = "cuda" if sys.platform == "darwin" else "mps"
ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests/golden.json").read_text(encoding="utf-8"))


def shipped(*changes: str) -> Config:
    return tree.load(ROOT / "params.yaml", changes)


def changed(params: Params, *changes: str) -> Config:
    return tree.read(override(params, changes))


def with_sources(params: Params, sources: Params) -> Params:
    """The parameters with these sources alone."""
    free = {"sources": "all", "floors": {}, "caps": {}}
    return {
        **params,
        "sources": sources,
        "tokenizer": {**params["tokenizer"], "weights": {}},
        "warmup": {**params["warmup"], **free},
        "polish": {**params["polish"], **free, "priority": next(iter(sources))},
    }


def equal_lengths(tokens: int) -> dict[str, Length]:
    """Of every shipped source."""
    return {source: Length(tokens, counted=True) for source in shipped().sources}


@pytest.fixture
def repository(
    build_repository: Callable[[Path], Params], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Params:
    """The small repository, as current folder."""
    monkeypatch.chdir(tmp_path)
    return build_repository(tmp_path)


def test_the_given_large_run() -> None:
    """Borders, sizes and, on the shipped text, a refusal."""
    lengths = equal_lengths(600_000)
    planned = plan(shipped("scale=andrea-120m"), lengths)
    borders = [(regime.first_step, regime.end_step) for regime in planned.regimes]
    assert borders == [(0, 20_000), (20_000, 112_619), (112_619, 200_000)]
    assert planned.checkpoint_bytes == 3 * (3 + 3) * 4 * GOLDEN["parameters"]["andrea-120m"]
    assert planned.state_bytes == 16 * GOLDEN["parameters"]["andrea-120m"]
    assert planned.shard_bytes == 16 * 2 * 600_000
    read = sum(regime.tokens for regime in planned.regimes)
    assert read == 200_000 * planned.scale.step_tokens
    assert sum(planned.epochs.values()) * 600_000 == pytest.approx(read)
    [refusal] = planned.refusals
    assert refusal.startswith("source hermes3-general would be read 9")
    allowed = shipped("scale=andrea-120m", "limits.allow_repeats=true")
    assert plan(allowed, lengths).refusals == []


def test_a_source_that_is_read_often_is_warned_of(repository: Params) -> None:
    """In the plan, above the verdict, and for a stage; nothing is refused for it."""
    lengths = equal_lengths(600_000)
    assert plan(shipped(), lengths).warnings == []
    planned = plan(shipped("limits.warn_epochs=2"), lengths)
    [warning] = planned.warnings
    assert f"hermes3-general {planned.epochs['hermes3-general']:.1f};" in warning
    assert planned.refusals == []
    assert table.lines(planned, None)[-2:] == [f"warning: {warning}", "nothing would be refused"]
    unwatched = shipped("limits.warn_epochs=2", "watch.enabled=false")
    assert plan(unwatched, lengths).warnings == []
    assert refuse(changed(repository)).warnings == []
    assert len(refuse(changed(repository, "limits.warn_epochs=0.01")).warnings) == 1


def test_a_source_that_is_too_short_is_refused_unless_excluded() -> None:
    """In every regime that would draw from it and has steps."""
    lengths = equal_lengths(600_000)
    lengths["repo-docs"] = Length(256, counted=True)
    [refusal] = plan(shipped("limits.allow_repeats=true"), lengths).refusals
    assert refusal.startswith("source repo-docs: 256 training tokens are less than one sequence")
    assert "firehose.caps.repo-docs=0" in refusal
    for way_out in ("firehose.caps.repo-docs=0", "firehose.end=0.1"):
        assert plan(shipped(way_out), lengths).refusals == []


def test_lengths_are_counted_where_the_shard_fits_the_vocabulary(repository: Params) -> None:
    """A shard of another tokenizer says nothing about this one."""
    for source, vocabulary in (("plain", 257 + 40), ("packed", 257 + 41)):
        folder = Path("data/shards") / source
        folder.mkdir(parents=True)
        manifest = {"vocabulary": vocabulary, "splits": {"train": {"tokens": 1234}}}
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    lengths = read_lengths(changed(repository))
    assert lengths["plain"] == Length(1234, counted=True)
    assert not lengths["packed"].counted
    assert not lengths["split"].counted
    for damaged in ("{", "[]", "{}"):
        Path("data/shards/plain/manifest.json").write_text(damaged, encoding="utf-8")
        with pytest.raises(UserError, match=r"shard plain: .*manifest.json is damaged"):
            read_lengths(changed(repository))
    shutil.rmtree("data/shards")
    Path("data/raw/split/train.jsonl").unlink()
    with pytest.raises(UserError, match=r"source split: data/raw/split/train.jsonl: no such file"):
        read_lengths(changed(repository))


def test_probes_cost_time_only_where_they_are_read() -> None:
    """The probes of sixteen sources forward, a third of a training step each, every 24.5 steps."""
    config, lengths = shipped(), equal_lengths(600_000)
    rows, read = config.scale.micro_batch, config.bandit.probe_rows
    warmup, firehose, _ = plan(config, lengths).regimes
    assert firehose.slowdown == pytest.approx(1 + 16 * read / 3 / (24.5 * rows))
    assert warmup.slowdown == pytest.approx(1 + 7 * read / 3 / (24.5 * rows))
    without = plan(shipped("bandit.reward=slope"), lengths)
    assert [regime.slowdown for regime in without.regimes] == [1, 1, 1]


def test_the_table_is_aligned_and_tells_guesses() -> None:
    """Columns end where their heads end; what was not counted has a mark."""
    lengths = {**equal_lengths(600_000), "chat": Length(500_000, counted=False)}
    planned = plan(shipped(), lengths)
    speed = Speed(0.5, 2, {"device": "cpu", "dtype": "fp32", "threads": 2})
    lines = table.lines(planned, speed, ["compute.device: no"])
    head = next(i for i, line in enumerate(lines) if line.startswith("source"))
    assert len({len(line) for line in lines[head : head + 17]}) == 1
    assert any(line.startswith("chat ") and "~500,000" in line for line in lines)
    assert any(line.startswith("~ a guess") for line in lines)
    pace = planned.scale.step_tokens * 2
    assert f"{pace:,} tokens/s on cpu, fp32, 2 threads, from 2 of" in "\n".join(lines)
    assert lines[-1] == "refused: compute.device: no"
    fine = table.lines(plan(shipped(), equal_lengths(10**6)), None)
    assert fine[-1] == "nothing would be refused"


def test_speed_is_that_of_the_loop(repository: Params, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole micro-batch is measured where there is time, and accumulation is counted."""
    monkeypatch.setattr("andrea.planning.speed.TRIAL_SECONDS", 0.02)
    monkeypatch.setattr("andrea.planning.speed.MEASURE_SECONDS", 0.2)
    speed = measure(changed(repository))
    assert speed.rows == repository["scales"]["small"]["micro_batch"]
    assert 0 < speed.step_seconds < 1
    assert speed.machine["device"] == "cpu"
    with pytest.raises(UserError, match=f"compute.device: '{ABSENT}' is not on this machine"):
        measure(changed(repository, f"compute.device={ABSENT}"))


@pytest.mark.parametrize("key", ["warmup.start", "geometry.control"])
def test_a_checkpoint_that_is_not_there_is_refused_before_training(
    repository: Params, tmp_path: Path, key: str
) -> None:
    config = changed(repository, f"{key}=data/imported/a.safetensors")
    assert missing_files(config) == [
        f"{key}: data/imported/a.safetensors: no such file; must be null or a checkpoint in"
        " data/imported"
    ]
    (tmp_path / "data/imported").mkdir()
    (tmp_path / "data/imported/a.safetensors").touch()
    assert missing_files(config) == []


def test_a_guess_without_a_shard_is_near_what_inspect_reads(repository: Params) -> None:
    """Of a repository, a table and a folder the size of the files says little: the text is read."""
    import pyarrow
    import pygit2
    from pyarrow import parquet

    texts = [f"{n}: " + "the boat came home with herrings " * 20 for n in range(50)]
    table_of = {"content": texts, "other": [random.Random(n).randbytes(5000) for n in range(50)]}
    Path("data/raw/table").mkdir()
    parquet.write_table(pyarrow.table(table_of), "data/raw/table/train.parquet")
    repo = pygit2.init_repository("data/raw/clone", bare=False)
    Path("data/raw/clone/noise.bin").write_bytes(random.Random(1).randbytes(300_000))
    Path("data/raw/clone/guide.md").write_text("\n\n".join(texts), encoding="utf-8")
    repo.index.add_all()
    me = pygit2.Signature("A", "a@example.org", 0, 0)
    repo.create_commit("HEAD", me, me, "First words", repo.index.write_tree(), [])
    sources = {
        "table": {"path": "data/raw/table", "train": "train.parquet", "field": "content"},
        "clone": {"path": "data/raw/clone", "train": ".", "format": "git-docs"},
        "commits": {"path": "data/raw/clone", "train": ".", "eval": ".", "format": "git-commits"},
    }
    size = len("".join(texts))
    config = changed(with_sources(repository, sources))
    lengths = read_lengths(config)
    assert not any(length.counted for length in lengths.values())
    for name in ("table", "clone"):
        assert 0.7 * size / 3 < lengths[name].tokens < 1.1 * size / 3
    assert lengths["commits"].tokens < 20


def test_a_guess_does_not_read_packed_json_lines(repository: Params) -> None:
    """They are what is shipped; a plan of them should not take seconds."""
    Path("data/raw/plain/train.jsonl.gz").write_bytes(b"x" * 3000)
    repository["sources"]["plain"]["train"] = "train.jsonl.gz"
    assert read_lengths(changed(repository))["plain"] == Length(2600, counted=False)


def test_a_missing_file_is_told_with_what_brings_it(repository: Params) -> None:
    source = repository["sources"]["plain"]
    source |= {"train": "train.jsonl.gz", "hub": {"name": "a/b"}}
    with pytest.raises(UserError, match=r"set sources\.plain\.hub\.revision, which is null"):
        read_lengths(changed(repository))
    source["hub"]["revision"] = "0" * 40
    with pytest.raises(UserError, match=r"not there yet; `andrea fetch plain` brings it"):
        read_lengths(changed(repository))
