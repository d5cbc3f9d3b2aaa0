from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from andrea.common import files, paths
from andrea.common.errors import UserError
from andrea.config import reading, tree
from andrea.config.text import Tokenizer as Settings
from andrea.config.tree import Config
from andrea.tokens.shards import open_shard
from andrea.tokens.tokenizer import Tokenizer
from stages.documents import documents
from stages.shard import shard
from stages.tokenizer import tokenizer
from tests.contract.conftest import ROOT

Write = Callable[[Path, Iterable[str]], Path]


@pytest.fixture
def config(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write_corpus: Write,
    corpus: Callable[[int, int], list[str]],
    settings: Settings,
) -> Config:
    """Two sources in a folder of their own, `two` without an evaluation file."""
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path / "data/raw/one/train.jsonl.gz", corpus(100, 1))
    write_corpus(tmp_path / "data/raw/one/eval.jsonl.gz", corpus(9, 2))
    write_corpus(tmp_path / "data/raw/two/train.jsonl", corpus(99, 3))
    params = reading.load(ROOT / paths.PARAMS)
    params["scale"] = "tiny"
    params["scales"]["tiny"]["segments"] = 64
    params["sources"] = {
        "one": {"path": "data/raw/one", "train": "train.jsonl.gz", "eval": "eval.jsonl.gz"},
        "two": {"path": "data/raw/two", "train": "train.jsonl", "eval": None},
    }
    params["tokenizer"] = vars(settings) | {"weights": {"one": 0.75, "two": 0.25}}
    params["documents"] = {"probe_share": 0.05, "val_share": 0.1}
    params["warmup"]["sources"] = "all"
    params["polish"] |= {"priority": "one", "floors": {}, "caps": {}}
    return tree.read(params)


def test_stages_write_documents_tokenizer_metrics_and_shards(config: Config) -> None:
    for name in config.sources:
        documents(config, name)
    tokenizer(config)
    loaded = Tokenizer.load(paths.TOKENIZER)
    metrics = files.read_json(paths.REPORTS / "tokenizer" / "metrics.json")
    assert metrics["vocabulary"] == loaded.vocabulary_size == 257 + 64
    assert set(metrics["tokenizer"]["bytes_per_token_by_source"]) == {"one", "two"}
    assert set(metrics["comparison"]) == {"sample_bytes", "harris", "bpe", "unigram"}
    for name in config.sources:
        shard(config, name)
        opened = open_shard(paths.SHARDS / name, paths.TOKENIZER)
        assert opened.manifest["source"] == name
        assert min(len(opened.train), len(opened.probe), len(opened.val)) > 0


def test_the_tokenizer_sees_no_held_out_text(config: Config, write_corpus: Write) -> None:
    for name in config.sources:
        documents(config, name)
    tokenizer(config)
    before = paths.TOKENIZER.read_bytes()
    write_corpus(Path("data/raw/one/eval.jsonl.gz"), ["quite other text " * 500])
    documents(config, "one")
    tokenizer(config)
    assert paths.TOKENIZER.read_bytes() == before


def test_the_tokenizer_counts_every_copy_of_a_document(
    config: Config, write_corpus: Write, corpus: Callable[[int, int], list[str]]
) -> None:
    """And in whatever order they stand."""
    texts = corpus(100, 1)
    for copies in (texts * 5, texts[:50] * 9 + texts[50:], texts[50:] + texts[:50] * 9):
        write_corpus(Path("data/raw/one/train.jsonl.gz"), copies)
        for name in config.sources:
            documents(config, name)
        tokenizer(config)
        written = paths.TOKENIZER.read_bytes()
        if copies == texts * 5:
            evenly = written
        elif copies[0] == texts[0]:
            unevenly = written
    assert evenly != unevenly == written


@pytest.mark.parametrize("size", [1, 2000])
def test_a_small_comparison_sample_is_to_blame_itself(config: Config, size: int) -> None:
    for name in config.sources:
        documents(config, name)
    settings = replace(config.tokenizer, comparison_bytes=size, least_count=20)
    with pytest.raises(UserError, match=rf"^tokenizer\.comparison_bytes: {size} give a sample of"):
        tokenizer(replace(config, tokenizer=settings))


def test_held_out_text_that_is_empty_is_refused(config: Config, write_corpus: Write) -> None:
    write_corpus(Path("data/raw/one/eval.jsonl.gz"), ["", ""])
    with pytest.raises(UserError, match=r"^data/raw/one/eval\.jsonl\.gz: no held-out document has"):
        documents(config, "one")


def test_what_an_earlier_stage_has_not_written_is_named(config: Config) -> None:
    for stage in (tokenizer, lambda config: shard(config, "one")):
        with pytest.raises(UserError, match=r"^documents one: .*`dvc repro -f -s documents@one`"):
            stage(config)


@pytest.mark.parametrize("stage", [documents, shard])
def test_an_unknown_source_is_refused(config: Config, stage: Callable[[Config, str], None]) -> None:
    with pytest.raises(UserError, match="'three' is not in `sources`, which has one, two"):
        stage(config, "three")


def test_shells_import_nothing_heavy() -> None:
    code = (
        "import sys, stages.documents, stages.tokenizer, stages.shard;"
        "print([m for m in ('torch', 'mlflow', 'pandas', 'transformers') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_what_reads_documents_knows_no_format() -> None:
    code = (
        "import sys, stages.tokenizer, stages.shard, stages.baselines, stages.evaluate;"
        "print([m for m in sys.modules if m.startswith('andrea.corpus.')])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "['andrea.corpus.documents']"
