"""From the text of a source to its documents."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from andrea.common import files
from andrea.common.errors import UserError
from andrea.config.text import Documents as Settings
from andrea.corpus import collect
from andrea.corpus.documents import SPLITS, SourceDocuments, digest, open_documents
from andrea.corpus.text import Text

Write = Callable[[Path, Iterable[str]], Path]
SETTINGS = Settings(probe_share=0.1, val_share=0.1)
TEXTS = [f"walking to {n}\n" * (n % 5) + f"{n} héllo 👩\u200d👩 {n}" for n in range(200)]


@pytest.fixture
def make(tmp_path: Path, write_corpus: Write) -> Callable[..., SourceDocuments]:
    """Documents of a source `chat` with some training and perhaps evaluation text."""

    def made(
        train: list[str], held_out: list[str] | None = None, settings: Settings = SETTINGS
    ) -> SourceDocuments:
        texts = [Text(write_corpus(tmp_path / "raw/train.jsonl.gz", train))]
        if held_out is not None:
            texts.append(Text(write_corpus(tmp_path / "raw/eval.jsonl.gz", held_out)))
        collect.write(tmp_path / "chat", texts[0], texts[1] if held_out else None, settings)
        return open_documents(tmp_path / "chat")

    return made


Make = Callable[..., SourceDocuments]


def _digest_of(documents: list[str]) -> str:
    return hashlib.sha256(b"".join(map(digest, documents))).hexdigest()


def test_documents_come_back_each_once_and_in_order(make: Make) -> None:
    documents = make([*TEXTS, TEXTS[3], "held out"], ["held out", "also", "also"])
    train, probe = list(documents.texts("train")), list(documents.texts("probe"))
    assert sorted(train + probe) == sorted(TEXTS)
    assert 0 < len(probe) < len(train)
    assert train == [text for text in TEXTS if text in set(train)]
    assert list(documents.texts("val")) == ["held out", "also"]


def test_training_text_is_train_and_probe_as_the_source_had_them(make: Make) -> None:
    """In order, and each as often: what the tokenizer counts."""
    documents = make([*TEXTS, TEXTS[3], "held out"], ["held out", "also", "also"])
    assert list(documents.training()) == [*TEXTS[:4], *TEXTS[3:]]
    assert list(documents.held_out()) == ["held out", "also", "also"]


def test_the_manifest_says_what_is_there(make: Make) -> None:
    documents = make([*TEXTS, TEXTS[3], "held out"], ["held out", "also", "also"])
    manifest = documents.manifest
    for name in SPLITS:
        texts, about = list(documents.texts(name)), manifest["splits"][name]
        assert about["documents"] == len(texts)
        assert about["bytes"] == len("".join(texts).encode())
        assert about["sha256"] == files.sha256(documents.folder / f"{name}.parquet")
    assert manifest["source"] == "chat"
    assert manifest["duplicates"] == {"train": 1, "val": 1, "train_in_val": 1}
    assert manifest["inputs"] == {
        "train": _digest_of([*TEXTS, TEXTS[3], "held out"]),
        "eval": _digest_of(["held out", "also", "also"]),
    }
    assert {path.name for path in documents.folder.iterdir()} == {
        "manifest.json", *(f"{name}.parquet" for name in SPLITS)
    }  # fmt: skip


def test_duplicates_are_counted_by_reason(make: Make) -> None:
    documents = make(["a", "b", "c", "a", "a", "d", "held", "held"], ["held", "e", "e"])
    assert documents.manifest["duplicates"] == {"train": 3, "val": 1, "train_in_val": 1}
    assert list(documents.texts("val")) == ["held", "e"]


def test_without_evaluation_text_val_is_split_off(make: Make) -> None:
    documents = make(TEXTS)
    parts = [list(documents.texts(name)) for name in SPLITS]
    assert sorted(text for part in parts for text in part) == sorted(TEXTS)
    assert all(parts)
    assert documents.manifest["inputs"]["eval"] is None
    assert not set(documents.training()) & set(documents.held_out())


def test_the_same_text_gives_the_same_bytes(make: Make) -> None:
    before = {path.name: path.read_bytes() for path in make(TEXTS, ["x"]).folder.iterdir()}
    again = {path.name: path.read_bytes() for path in make(TEXTS, ["x"]).folder.iterdir()}
    assert before == again


@pytest.mark.parametrize(("count", "own"), [(1, True), (1, False), (2, False)])
def test_too_few_documents_are_refused(make: Make, count: int, own: bool) -> None:
    with pytest.raises(UserError, match=rf"jsonl\.gz: {count} different documents, too few"):
        make([str(n) for n in range(count)] * 3, ["x"] if own else None)


@pytest.mark.parametrize(("count", "own"), [(2, True), (3, False)])
def test_every_split_gets_a_document(make: Make, count: int, own: bool) -> None:
    tiny = Settings(probe_share=1e-9, val_share=1e-9)
    documents = make([str(n) for n in range(count)], ["x"] if own else None, tiny)
    assert len(list(documents.texts("val"))) == len(list(documents.texts("probe"))) == 1


LONG = "It was the best of times, it was the worst of times, it was the age of wisdom. {}"


@pytest.mark.parametrize(
    ("handling", "count", "kept"), [("keep", 0, 1), ("report", 1, 1), ("remove", 1, 0)]
)
def test_near_duplicates_of_held_out_text_are_kept_counted_or_removed(
    make: Make, handling: Any, count: int, kept: int
) -> None:
    near = LONG.format("Foolishness")
    settings = Settings(0.1, 0.1, near_duplicates=handling, near_threshold=0.7)
    documents = make([*TEXTS, near], [LONG.format("")], settings)
    about = {"handling": handling, "train_of_val": count}
    assert documents.manifest["near_duplicates"] == about
    assert list(documents.training()).count(near) == kept
    assert len(list(documents.training())) == len(TEXTS) + kept


def test_what_is_left_after_removal_may_be_too_little(make: Make) -> None:
    settings = Settings(0.1, 0.1, near_duplicates="remove", near_threshold=0.7)
    texts = [LONG.format(word) for word in ("Yes", "No")]
    with pytest.raises(UserError, match=r"2 different documents, 2 of them near held-out ones, "):
        make(texts, [LONG.format("")], settings)


def test_personal_data_is_masked_where_that_is_asked_for(
    tmp_path: Path, write_corpus: Write
) -> None:
    texts = [*TEXTS, "write to ann@example.org", "or to bob@example.org"]
    train = write_corpus(tmp_path / "train.jsonl", texts)
    evaluation = write_corpus(tmp_path / "eval.jsonl", ["ask eve@example.org"])
    for masked, own, count in ((False, None, 0), (True, None, 2), (True, evaluation, 3)):
        held_out = None if own is None else Text(own, masked=True)
        manifest = collect.write(tmp_path / "irc", Text(train, masked=masked), held_out, SETTINGS)
        documents = open_documents(tmp_path / "irc")
        text = "".join(document for name in SPLITS for document in documents.texts(name))
        assert sum(manifest["personal_data"]["masked"].values()) == count
        assert text.count("@example.org") == 2 * (not masked)


def test_a_bad_line_leaves_no_documents(tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    train.write_bytes(b'{"text": "a"}\n' * 3 + b'{"text": "\xff"}\n')
    with pytest.raises(UserError, match=r"train\.jsonl, line 4: invalid UTF-8"):
        collect.write(tmp_path / "irc", Text(train), None, SETTINGS)
    assert not (tmp_path / "irc").exists()


def test_every_text_is_read_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    plain = Text.read

    def noted(self: Text, marks: dict[str, int]) -> Any:
        read.append(self.path.name)
        return plain(self, marks)

    monkeypatch.setattr(Text, "read", noted)
    make(TEXTS, ["x"])
    make(TEXTS)
    assert sorted(read) == ["eval.jsonl.gz", "train.jsonl.gz", "train.jsonl.gz"]
