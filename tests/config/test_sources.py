"""Files of a source."""

from __future__ import annotations

from pathlib import Path

from andrea.config.sources import Source


def test_files_lie_in_the_folder_of_the_source() -> None:
    """Also in one below it; without `eval` there is no held-out file."""
    source = Source("data/raw/chat", "part/train.jsonl", "eval.jsonl")
    source.check("sources.chat")
    assert source.train_path == Path("data/raw/chat/part/train.jsonl")
    assert source.eval_path == Path("data/raw/chat/eval.jsonl")
    assert Source("data/raw/chat", "train.jsonl", None).eval_path is None
