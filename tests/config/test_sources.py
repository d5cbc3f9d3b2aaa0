"""Files of a source."""

from __future__ import annotations

from pathlib import Path

import pytest

from andrea.common.errors import UserError
from andrea.config.text import Source, read


def test_files_lie_in_the_folder_of_the_source() -> None:
    """Also in one below it; without `eval` there is no held-out file."""
    source = Source("data/raw/chat", "part/train.jsonl", "eval.jsonl")
    source.check("sources.chat")
    assert source.train_path == Path("data/raw/chat/part/train.jsonl")
    assert source.eval_path == Path("data/raw/chat/eval.jsonl")
    assert Source("data/raw/chat", "train.jsonl", None).eval_path is None


@pytest.mark.parametrize("name", ["all", "-notes", "n" * 65])
def test_a_name_that_would_be_taken_for_something_else_is_refused(name: str) -> None:
    """`warmup.sources: all` means every source, and `-notes` is an option of a command."""
    good = {"path": "data/raw/x", "train": "."}
    read({"sources": {"one": good, "n" * 64: good}})
    with pytest.raises(UserError, match=f"sources.{name}: not allowed as a name"):
        read({"sources": {"one": good, name: good}})


@pytest.mark.parametrize("key", ["train", "eval"])
def test_a_file_is_relative_to_the_folder(key: str) -> None:
    source = {"path": "data/raw/x", "train": "a.txt", key: "data/raw/x/part/1.txt"}
    with pytest.raises(UserError, match=rf"x\.{key}: .* is relative to `path`, write 'part/1.txt'"):
        read({"sources": {"x": source, "y": source}})
