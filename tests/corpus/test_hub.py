from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from andrea.common.errors import UserError
from andrea.common.files import read_json, sha256
from andrea.config.text import Hub, Source
from andrea.corpus import hub
from andrea.corpus.formats import documents, records
from andrea.corpus.hub import Split
from tests.contract.conftest import ROOT

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PINNED = Hub("owner/name", COMMIT, eval_split="test")
CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho \u2028 é"}]
ROWS: dict[str, list[dict[str, Any]]] = {
    "train": [{"id": 1, "messages": CHAT, "system": "Be kind."}, {"id": 2, "messages": []}],
    "test": [{"id": 3, "messages": CHAT, "system": None}],
}


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(str(tmp_path / "chat"), hub.TRAIN, hub.EVAL, hub=PINNED)


def loader(rows: dict[str, list[Any]]) -> Callable[[Hub, str], Split]:
    return lambda _, split: Split(iter(rows[split]), None)


def unwatched(split: Split, place: str) -> Iterable[dict[str, Any]]:
    return split.rows


def fetch(source: Source, rows: dict[str, list[Any]]) -> dict[str, Any]:
    assert source.hub is not None
    return hub.fetch(source, source.hub, unwatched, loader(rows))


def test_what_is_fetched_is_read_as_any_other_source(source: Source) -> None:
    fetch(source, ROWS)
    assert list(documents.read(source.train_path)) == ["> Be kind.\nHi\n< Ho \u2028 é", ""]
    assert source.eval_path is not None
    assert list(documents.read(source.eval_path)) == ["> Hi\n< Ho \u2028 é"]


def test_provenance_says_what_was_asked_and_what_came(source: Source) -> None:
    provenance = fetch(source, ROWS)
    folder = Path(source.path)
    assert provenance == read_json(folder / hub.PROVENANCE)
    assert provenance["asked"]["hub"] == {
        "name": "owner/name", "revision": COMMIT, "subset": None,
        "train_split": "train", "eval_split": "test",
    }  # fmt: skip
    train = provenance["files"][hub.TRAIN]
    texts = list(documents.read(source.train_path))
    assert train["documents"] == len(texts)
    assert train["bytes"] == sum(len(text.encode()) for text in texts)
    assert train["sha256"] == sha256(source.train_path)
    assert {path.name for path in folder.iterdir()} == {hub.TRAIN, hub.EVAL, hub.PROVENANCE}


def test_equal_rows_give_equal_bytes(source: Source) -> None:
    first = fetch(source, ROWS)
    Path(source.path, hub.TRAIN).unlink()
    assert fetch(source, ROWS) == first


def test_only_what_the_format_reads_is_kept(source: Source) -> None:
    text = replace(source, eval=None, hub=replace(PINNED, eval_split=None), field="body")
    fetch(text, {"train": [{"body": "one", "embedding": [0.5] * 9, "messages": None}]})
    assert list(documents.read(text.train_path, "jsonl", "body")) == ["one"]
    assert "embedding" not in next(iter(records.read(text.train_path)))[1]


def failing(rows: list[Any]) -> Iterator[Any]:
    yield from rows
    raise UserError("the line is dead")


def test_nothing_is_lost_when_fetching_fails_half_way(source: Source) -> None:
    before = fetch(source, ROWS)
    kept = {path: path.read_bytes() for path in Path(source.path).iterdir()}
    for bad in (failing(ROWS["test"]), [{"id": 1}], [{"messages": [{"role": "x"}]}], []):
        with pytest.raises(UserError):
            fetch(source, {**ROWS, "test": bad})  # type: ignore[dict-item]
        assert {path: path.read_bytes() for path in Path(source.path).iterdir()} == kept
    assert hub.is_there(source)
    assert fetch(source, ROWS) == before


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([*ROWS["test"], {"messages": [{"role": "x"}]}], "split test, row 2: message 1: "),
        ([{"other": 1}], "split test, row 1: no field \"text\"; there are 'other'"),
        ([], "split test: holds no row"),
    ],
)
def test_a_row_without_text_is_named(source: Source, rows: list[Any], reason: str) -> None:
    with pytest.raises(UserError, match=f"owner/name, {reason}"):
        fetch(source, {**ROWS, "test": rows})
    assert not Path(source.path).exists()


def test_what_is_there_is_there_until_it_is_changed(source: Source) -> None:
    assert not hub.is_there(source)
    fetch(source, ROWS)
    assert hub.is_there(source)
    for other in (replace(PINNED, revision="f" * 40), replace(PINNED, subset="other")):
        assert not hub.is_there(replace(source, hub=other))
    assert not hub.is_there(replace(source, field="body"))
    source.train_path.write_bytes(b"")
    assert not hub.is_there(source)


@pytest.mark.parametrize("provenance", ["", "[]", "{}", '{"files": 3, "asked": {}}', "\x00"])
def test_a_provenance_of_no_use_counts_as_none(source: Source, provenance: str) -> None:
    fetch(source, ROWS)
    Path(source.path, hub.PROVENANCE).write_text(provenance, encoding="utf-8")
    assert not hub.is_there(source)


def test_files_that_were_not_fetched_are_left_alone(source: Source) -> None:
    folder = Path(source.path)
    for begin in (folder.mkdir, lambda: fetch(source, ROWS)):
        begin()
        (folder / "mine.jsonl").touch()
        with pytest.raises(UserError, match="holds files that were not fetched; move them away"):
            hub.is_there(source)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"hub": None}, r"sources\.chat\.hub: null"),
        ({"hub": replace(PINNED, revision="main")}, r"chat\.hub\.revision: 'main'; a commit of 40"),
        ({"hub": replace(PINNED, revision=None)}, r"chat\.hub\.revision: None; a commit"),
        ({"hub": replace(PINNED, revision=COMMIT[:-1] + "g")}, r"hub\.revision: "),
        ({"format": "parquet"}, r"sources\.chat\.format: 'parquet'; of the hub, jsonl, chat or"),
        ({"train": "."}, r"sources\.chat\.train: '\.'; what is fetched is train\.jsonl\.gz"),
        ({"eval": None}, r"sources\.chat\.eval: None; what is fetched is eval\.jsonl\.gz"),
        ({"hub": replace(PINNED, eval_split=None)}, r"chat\.eval: 'eval\.jsonl\.gz'; .* is null"),
    ],
)
def test_what_does_not_fit_is_named(source: Source, change: dict[str, Any], reason: str) -> None:
    assert hub.check(source, "sources.chat") == PINNED
    with pytest.raises(UserError, match=reason):
        hub.check(replace(source, **change), "sources.chat")


def test_a_local_folder_needs_no_commit_and_is_read_anew(source: Source, tmp_path: Path) -> None:
    for revision in (None, "main"):
        local = replace(source, hub=replace(PINNED, name=str(tmp_path), revision=revision))
        assert hub.check(local, "sources.chat") == local.hub
        fetch(local, ROWS)
        assert not hub.is_there(local)


def test_the_library_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r'pip install "andrea\[hub\]"'):
        hub.load(PINNED, "train")


LOCAL = """
import sys
from pathlib import Path
from andrea.config.text import Hub, Source
from andrea.common.errors import UserError
from andrea.corpus import hub

def fetch(name, **more):
    given = Hub(name, **more)
    source = Source("fetched", hub.TRAIN, hub.EVAL if given.eval_split else None, hub=given)
    hub.check(source, "sources.local")
    return hub.fetch(source, given, lambda split, place: split.rows, hub.load)["files"]

print(fetch("data", eval_split="test")[hub.TRAIN]["documents"])
for more in ({"train_split": "none"}, {"subset": "none"}, {"eval_split": "broken"}):
    try:
        fetch("data", **more)
    except UserError as error:
        print(error)
try:
    fetch("nobody/nothing", revision="0" * 40)
except UserError as error:
    print(error)
try:
    fetch("code")
except UserError as error:
    print(error)
print(Path("ran").exists())
"""


def test_a_local_data_set_is_fetched_without_a_network(tmp_path: Path) -> None:
    """With the library itself, in a process that may not ask the hub; code in it never runs."""
    for name, split in (("train", "train"), ("test", "test")):
        path = tmp_path / "data" / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS[split]), encoding="utf-8")
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "code.py").write_text("open('ran', 'w')\n", encoding="utf-8")
    environment = {
        **os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "cache"),
        "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-c", LOCAL], cwd=tmp_path, env=environment, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    told = run.stdout.splitlines()
    assert [told[0], told[-1]] == ["2", "False"]
    assert [line.split(":")[0] for line in told[1:-1]] == [
        "data, split none", "data, split train", "data, split broken",
        "nobody/nothing, split train", "code, split train",
    ]  # fmt: skip
    assert list(documents.read(tmp_path / "fetched" / hub.EVAL)) == ["> Hi\n< Ho \u2028 é"]


@pytest.mark.parametrize("name", ["./none", "/tmp/none", "data/raw/none", "data/none"])
def test_a_local_folder_that_is_not_there_is_named(
    source: Source, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=f"sources.x.hub.name: {name}: no such folder"):
        hub.check(replace(source, hub=replace(PINNED, name=name, revision=None)), "sources.x")


def test_a_fetch_that_fails_leaves_no_part(source: Source) -> None:
    for bad in (failing(ROWS["test"]), [{"id": 1}]):
        with pytest.raises(UserError):
            fetch(source, {**ROWS, "test": bad})  # type: ignore[dict-item]
        assert list(Path(source.path).parent.iterdir()) == []


def test_zstandard_in_a_local_folder_is_told_before_the_library_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.jsonl.zst").touch()
    monkeypatch.setattr(hub, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"train\.jsonl\.zst: the library `datasets` cannot unpack"):
        hub.load(Hub(str(tmp_path)), "train")
