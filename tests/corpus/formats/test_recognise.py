from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pygit2
import pytest

from andrea.common.errors import UserError
from andrea.common.paths import RAW
from andrea.config import text
from andrea.corpus.formats import documents
from andrea.corpus.formats.documents import recognise
from andrea.corpus.formats.registry import FORMATS
from tests.contract.conftest import ROOT

CHAT = {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Ho"}]}
BOOK = (
    "The Project Gutenberg eBook of A\n\n*** START OF THE PROJECT GUTENBERG EBOOK A ***\n\n"
    "Chapter I\n\nIt was.\n\n*** END OF THE PROJECT GUTENBERG EBOOK A ***\n"
)
LOG = "[10:00] <ann> hello there\n[10:01] <bob> hello ann\n[10:02] <ann> how are you\n"


def line(record: object) -> str:
    return json.dumps(record) + "\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def refused(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        recognise(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    return str(caught.value)


SIGNS = [
    ("a.jsonl", line({"text": "a"}), "jsonl"),
    ("a.ndjson", "\ufeff" + line({"text": "a"}), "jsonl"),
    ("a.jsonl", line(CHAT), "chat"),
    ("a.jsonl", line({"text": "both", **CHAT}), "chat"),
    ("a.jsonl", line({"text": "a", "messages": "none"}), "jsonl"),
    ("a.jsonl", line({"word": "owl", "definition": "a bird"}), "dictionary"),
    ("a.csv", "word,definition\nowl,a bird\n", "dictionary"),
    ("a.txt", BOOK, "gutenberg"),
    ("a.txt", LOG, "irc"),
    ("a.log", LOG, "irc"),
    ("a.txt", "Just words.\n", "text"),
    ("a.md", "# Heading\n\nWords.\n", "text"),
    ("a.txt", "{{ words }} in braces\n", "text"),
    ("a.md", "[A link](b) opens the text.\n", "text"),
]


@pytest.mark.parametrize(("name", "text", "form"), SIGNS)
def test_a_format_is_told_from_a_file_and_from_a_folder(
    tmp_path: Path, name: str, text: str, form: str
) -> None:
    file = write(tmp_path / name, text)
    packed = tmp_path / "packed" / f"{name}.gz"
    write(tmp_path / "packed" / ".hidden.parquet", "no Parquet")
    packed.write_bytes(gzip.compress(file.read_bytes()))
    for path in (file, packed, packed.parent):
        assert recognise(path) == form
        assert list(documents.read(path)) == list(documents.read(path, form)) != []
    assert form in FORMATS


@pytest.mark.parametrize("name", ["a", "a.json", "a.txt"])
def test_json_lines_of_another_name_are_known_too(tmp_path: Path, name: str) -> None:
    assert recognise(write(tmp_path / name, line({"text": "a"}))) == "jsonl"
    assert recognise(write(tmp_path / name, line(CHAT))) == "chat"


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    for name in ("b/1.jsonl", "a/2.jsonl.gz", "a/10.jsonl"):
        path = write(tmp_path / name, line({"text": name}))
        if name.endswith("gz"):
            path.write_bytes(gzip.compress(path.read_bytes()))
    write(tmp_path / "a/.11.jsonl", "hidden")
    write(tmp_path / ".git-is-hidden/a.jsonl", "hidden")
    write(tmp_path / "README.md", "passed over")
    write(tmp_path / "dataset_info.json", "{}")
    write(tmp_path / "b/2.jsonl", "")  # an empty part of a source that is not empty
    assert list(documents.read(tmp_path)) == ["a/10.jsonl", "a/2.jsonl.gz", "b/1.jsonl"]


def test_chats_of_a_folder_may_stand_in_several_containers(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", line(CHAT))
    pq.write_table(pa.Table.from_pylist([CHAT]), tmp_path / "b.parquet")
    assert "holds JSON Lines and Parquet files" in refused(tmp_path)
    assert list(documents.read(tmp_path, "chat")) == ["> Hi\n< Ho"] * 2
    with pytest.raises(UserError, match=r'a\.jsonl, line 1: no field "text"'):
        list(documents.read(tmp_path, "jsonl"))


def test_a_named_text_beside_no_list_is_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", line({"body": "a", "chosen": [{"role": "user"}]}))
    assert recognise(path, "body") == "jsonl"
    assert recognise(path, "chosen") == "chat"
    told = refused(path)
    assert 'line 1: neither a text "text" nor' in told and "'body', 'chosen'" in told


def test_what_is_missing_or_empty_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"{tmp_path}/none: no such folder"):
        recognise(tmp_path / "none" / "a.jsonl")
    assert "cannot be opened" in refused(tmp_path / "a.jsonl")
    assert "holds no document, it is empty" in refused(write(tmp_path / "empty", ""))
    (tmp_path / "folder").mkdir()
    assert "holds no file that can be read" in refused(tmp_path / "folder")
    for form in FORMATS:
        with pytest.raises(UserError, match="folder"):
            list(documents.read(tmp_path / "folder", form))


def test_what_is_of_no_known_format_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    assert "of no format that is known" in refused(tmp_path / "a")
    assert "begins like a JSON array" in refused(write(tmp_path / "b.json", json.dumps([CHAT])))
    assert "line 1: bad JSON" in refused(write(tmp_path / "c.json", '{\n "text": "a"\n}'))
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "d")
    assert 'a text "text" nor "messages" or "conversations"' in refused(tmp_path / "d")


@pytest.mark.parametrize("bare", [True, False])
def test_a_repository_is_never_guessed(tmp_path: Path, bare: bool) -> None:
    pygit2.init_repository(str(tmp_path), bare=bare)
    write(tmp_path / "a.jsonl", line({"text": "a"}))
    assert "git-docs, git-docstrings, git-commits" in refused(tmp_path)


@pytest.mark.parametrize("folder", sorted((ROOT / RAW).iterdir()), ids=lambda folder: folder.name)
def test_the_shipped_sources_are_json_lines(folder: Path) -> None:
    for path in folder.glob("*.jsonl.gz"):
        assert recognise(path) == "jsonl"


@pytest.mark.parametrize("names", [[], ["a.pdf", "b.docx"], [".a.txt"], ["link.txt"]], ids=str)
def test_a_folder_with_nothing_to_read_says_so(tmp_path: Path, names: list[str]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in names:
        if name == "link.txt":
            (folder / name).symlink_to(write(tmp_path / "elsewhere.txt", "words"))
        else:
            write(folder / name, "words")
    told = refused(folder)
    assert "holds no file that can be read; known endings are .jsonl, .ndjson, .parquet" in told
    assert told.endswith("(packed or not; hidden files and links are passed over)")


def test_an_array_in_a_folder_has_the_hint_of_an_array(tmp_path: Path) -> None:
    write(tmp_path / "folder/a.json", '[{"text": "a"}]')
    assert "jq -c '.[]'" in refused(tmp_path / "folder")


def test_messages_in_a_string_are_named(tmp_path: Path) -> None:
    told = refused(write(tmp_path / "a.jsonl", line({"messages": json.dumps([])})))
    assert 'line 1: "messages" is a string; it must be a list of messages' in told


def test_every_format_is_a_word_of_the_parameters_and_the_other_way_round() -> None:
    assert set(FORMATS) == set(text.FORMATS)
