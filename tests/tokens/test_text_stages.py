from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from andrea.common import files, paths
from andrea.common.errors import UserError
from andrea.config.text import Tokenizer as Settings
from andrea.tokens.shards import open_shard
from andrea.tokens.tokenizer import Tokenizer
from stages.shard import shard
from stages.tokenizer import tokenizer

Write = Callable[[Path, Iterable[str]], Path]


@pytest.fixture
def params(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write_corpus: Write,
    corpus: Callable[[int, int], list[str]],
    settings: Settings,
) -> dict[str, Any]:
    """Two sources in a folder of their own, `two` without an evaluation file."""
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path / "data/raw/one/train.jsonl.gz", corpus(100, 1))
    write_corpus(tmp_path / "data/raw/one/eval.jsonl.gz", corpus(9, 2))
    write_corpus(tmp_path / "data/raw/two/train.jsonl", corpus(99, 3))
    return {
        "scale": "tiny",
        "scales": {
            "tiny": {
                "segments": 64,
                "d_model": 8,
                "n_heads": 2,
                "n_layers": 1,
                "context": 16,
                "micro_batch": 2,
                "grad_accumulation": 1,
                "steps": 4,
                "lr": 0.1,
                "bigram_init": 0,
                "log_every": 1,
            }
        },
        "sources": {
            "one": {"path": "data/raw/one", "train": "train.jsonl.gz", "eval": "eval.jsonl.gz"},
            "two": {"path": "data/raw/two", "train": "train.jsonl", "eval": None},
        },
        "tokenizer": vars(settings) | {"weights": {"one": 0.75, "two": 0.25}},
        "shard": {"probe_share": 0.05, "val_share": 0.1},
    }


def test_stages_write_tokenizer_metrics_and_shards(params: dict[str, Any]) -> None:
    tokenizer(params)
    loaded = Tokenizer.load(paths.TOKENIZER)
    metrics = files.read_json(paths.REPORTS / "tokenizer" / "metrics.json")
    assert metrics["vocabulary"] == loaded.vocabulary_size == 257 + 64
    assert set(metrics["tokenizer"]["bytes_per_token_by_source"]) == {"one", "two"}
    assert set(metrics["comparison"]) == {"sample_bytes", "harris", "bpe", "unigram"}
    for name in params["sources"]:
        shard(params, name)
        opened = open_shard(paths.SHARDS / name, paths.TOKENIZER)
        assert opened.manifest["source"] == name
        assert min(len(opened.train), len(opened.probe), len(opened.val)) > 0


def test_the_tokenizer_sees_no_held_out_text(params: dict[str, Any], write_corpus: Write) -> None:
    tokenizer(params)
    before = paths.TOKENIZER.read_bytes()
    write_corpus(Path("data/raw/one/eval.jsonl.gz"), ["quite other text " * 500])
    tokenizer(params)
    assert paths.TOKENIZER.read_bytes() == before


@pytest.mark.parametrize("size", [1, 2000])
def test_a_small_comparison_sample_is_to_blame_itself(params: dict[str, Any], size: int) -> None:
    params["tokenizer"] |= {"comparison_bytes": size, "least_count": 20}
    with pytest.raises(UserError, match=rf"^tokenizer\.comparison_bytes: {size} give a sample of"):
        tokenizer(params)


@pytest.mark.parametrize("stage", [tokenizer, partial(shard, name="one")])
def test_held_out_text_that_is_empty_is_refused(
    params: dict[str, Any], write_corpus: Write, stage: Callable[[dict[str, Any]], None]
) -> None:
    tokenizer(params)
    write_corpus(Path("data/raw/one/eval.jsonl.gz"), ["", ""])
    with pytest.raises(UserError, match=r"^data/raw/one/eval\.jsonl\.gz: no held-out document has"):
        stage(params)


def test_an_unknown_source_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="'three' is not in `sources`, which has one, two"):
        shard(params, "three")


def test_shells_import_nothing_heavy() -> None:
    code = (
        "import sys, stages.tokenizer, stages.shard;"
        "print([m for m in ('torch', 'mlflow', 'pandas', 'transformers') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
