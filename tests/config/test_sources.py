"""Files of a source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from andrea.common.errors import UserError
from andrea.config import tree
from andrea.config.text import Source

Change = Callable[..., dict[str, Any]]


def test_files_lie_in_the_folder_of_the_source() -> None:
    """Also in one below it; without `eval` there is no held-out file."""
    source = Source("data/raw/chat", "part/train.jsonl", "eval.jsonl")
    source.check("sources.chat")
    assert source.train_path == Path("data/raw/chat/part/train.jsonl")
    assert source.eval_path == Path("data/raw/chat/eval.jsonl")
    assert Source("data/raw/chat", "train.jsonl", None).eval_path is None


@pytest.mark.parametrize("name", ["all", "-notes", "n" * 65])
def test_a_name_that_would_be_taken_for_something_else_is_refused(
    changed: Change, name: str
) -> None:
    """`warmup.sources: all` means every source, and `-notes` is an option of a command."""
    good = {"path": "data/raw/x", "train": "."}
    tree.read(changed({f"sources.{'n' * 64}": good}))
    with pytest.raises(UserError, match=f"sources.{name}: not allowed as a name"):
        tree.read(changed({f"sources.{name}": good}))


def test_a_mixture_needs_two_sources(changed: Change) -> None:
    good = {"path": "data/raw/x", "train": "."}
    with pytest.raises(UserError, match="sources: 1 named, a mixture needs at least 2"):
        tree.read(changed({"sources": {"one": good}}))


@pytest.mark.parametrize("key", ["train", "eval"])
def test_a_file_is_relative_to_the_folder(changed: Change, key: str) -> None:
    source = {"path": "data/raw/x", "train": "a.txt", key: "data/raw/x/part/1.txt"}
    with pytest.raises(UserError, match=rf"x\.{key}: .* is relative to `path`, write 'part/1.txt'"):
        tree.read(changed({"sources.x": source}))
