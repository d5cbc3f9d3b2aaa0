from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from andrea.commands import fetch
from andrea.common.errors import UserError
from andrea.config.text import Hub
from andrea.corpus import hub
from andrea.corpus.formats import documents
from andrea.corpus.hub import Split

COMMIT = "a" * 40


def source(name: str, **more: Any) -> str:
    """A change of parameters which gives a source a data set of the hub."""
    given = f"hub: {{name: owner/{name}, revision: {more.get('revision', COMMIT)}}}"
    return f"sources.{name}={{path: data/raw/new/{name}, train: train.jsonl.gz, {given}}}"


@pytest.fixture
def run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    build_repository: Callable[[Path], dict[str, Any]],
) -> Callable[..., int]:
    """`run("plain", "-S", ...)` as after `andrea fetch`, in a repository with a hub of its own."""

    def load(given: Hub, split: str) -> Split:
        return Split(iter([{"text": given.name}, {"text": split}]), 2)

    build_repository(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub, "load", load)
    parser = argparse.ArgumentParser()
    fetch.add(parser.add_subparsers())

    def run(*arguments: str) -> int:
        given = parser.parse_args(["fetch", *arguments])
        status: int = given.command(given)
        return status

    return run


def test_one_source_is_fetched_once(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    for told in ("2 documents, 16 bytes of text, in data/raw/new/plain/train", "there already, in"):
        assert run("plain", "-S", source("plain"), "-S", source("packed")) == 0
        printed = capsys.readouterr()
        assert printed.out.startswith(f"plain: {told}") and printed.out.count("\n") == 1
        assert printed.err == ""
    assert list(documents.read(Path("data/raw/new/plain"))) == ["owner/plain", "train"]
    assert not Path("data/raw/new/packed").exists()


def test_all_that_name_a_data_set_are_fetched(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--all", "-S", source("split"), "-S", source("packed")) == 0
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == [
        "packed",
        "split",
    ]


def test_mistakes_are_told_before_anything_is_fetched(run: Callable[..., int]) -> None:
    good, bad = source("plain"), source("split", revision="main")
    for arguments, reason in [
        ([], "one SOURCE or --all"),
        (["plain", "--all"], "one SOURCE or --all"),
        (["none"], "none: no such source, known are plain, packed, split"),
        (["plain"], r"sources\.plain\.hub: null"),
        (["--all"], "none has a `hub`"),
        (["--all", "-S", good, "-S", bad], r"sources\.split\.hub\.revision: 'main'"),
    ]:
        with pytest.raises(UserError, match=reason):
            run(*arguments)
    assert not Path("data/raw/new").exists()
