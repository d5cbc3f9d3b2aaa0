from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from andrea.config.shard import Shard as Settings
from andrea.errors import UserError
from andrea.text import splits

Write = Callable[[Path, Iterable[str]], Path]
HALF = Settings(probe_share=0.1, val_share=0.2)


def test_shares_are_about_those_asked_for_and_apart(tmp_path: Path, write_corpus: Write) -> None:
    train = write_corpus(tmp_path / "a.jsonl", (f"document {n}" for n in range(5000)))
    split = splits.split(train, None, HALF)
    assert len(split.val) == pytest.approx(1000, abs=100)
    assert len(split.probe) == pytest.approx(400, abs=70)
    assert not split.val & split.probe
    assert set(split.duplicates.values()) == {0}


def test_order_and_other_documents_do_not_matter(tmp_path: Path, write_corpus: Write) -> None:
    texts = [f"document {n}" for n in range(300)]
    every = splits.split(write_corpus(tmp_path / "a.jsonl", texts), None, HALF)
    some = splits.split(write_corpus(tmp_path / "b.jsonl", texts[::-2]), None, HALF)
    for text in texts[::-2]:
        name = splits.digest(text)
        assert every.place(name) == some.place(name)


def test_duplicates_are_counted_by_reason(tmp_path: Path, write_corpus: Write) -> None:
    train = write_corpus(tmp_path / "a.jsonl", ["a", "b", "c", "a", "a", "d", "held", "held"])
    evaluation = write_corpus(tmp_path / "b.jsonl", ["held", "e", "e"])
    split = splits.split(train, evaluation, HALF)
    assert split.duplicates == {"train": 3, "val": 1, "train_in_val": 1}
    assert split.val == {splits.digest("held"), splits.digest("e")}


@pytest.mark.parametrize(("documents", "own"), [(1, True), (1, False), (2, False)])
def test_too_few_documents_are_refused(
    tmp_path: Path, write_corpus: Write, documents: int, own: bool
) -> None:
    train = write_corpus(tmp_path / "a.jsonl", [str(n) for n in range(documents)] * 3)
    evaluation = write_corpus(tmp_path / "b.jsonl", ["x"]) if own else None
    with pytest.raises(UserError, match=rf"a\.jsonl: {documents} different documents, too few"):
        splits.split(train, evaluation, HALF)


@pytest.mark.parametrize(("documents", "own"), [(2, True), (3, False)])
def test_every_split_gets_a_document(
    tmp_path: Path, write_corpus: Write, documents: int, own: bool
) -> None:
    train = write_corpus(tmp_path / "a.jsonl", [f"{n}" for n in range(documents)])
    evaluation = write_corpus(tmp_path / "b.jsonl", ["x"]) if own else None
    tiny = Settings(probe_share=1e-9, val_share=1e-9)
    split = splits.split(train, evaluation, tiny)
    assert len(split.val) == len(split.probe) == 1


def test_training_and_held_out_documents_share_nothing(tmp_path: Path, write_corpus: Write) -> None:
    texts = [f"document {n}" for n in range(100)]
    train = write_corpus(tmp_path / "a.jsonl", texts)
    evaluation = write_corpus(tmp_path / "b.jsonl", ["new", "document 7"])
    for path in (None, evaluation):
        val = splits.held_out(train, path, 0.2)
        training = list(splits.training_documents(train, val))
        held_out = list(splits.held_out_documents(train, path, val))
        assert held_out
        assert not set(training) & set(held_out)
        assert set(training) | set(held_out) >= set(texts)
