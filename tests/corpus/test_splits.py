from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from andrea.common.errors import UserError
from andrea.config.text import Documents as Settings
from andrea.corpus import splits
from andrea.corpus.documents import Documents
from andrea.corpus.splits import Split

Write = Callable[[Path, Iterable[str]], Path]
HALF = Settings(probe_share=0.1, val_share=0.2)


def split(
    train: Path,
    evaluation: Path | None,
    settings: Settings,
    removed: frozenset[bytes] = frozenset(),
) -> Split:
    both = Documents(train), None if evaluation is None else Documents(evaluation)
    val = splits.held_out(*both, settings.val_share)
    return splits.split(*both, val, removed, settings)


def test_shares_are_about_those_asked_for_and_apart(tmp_path: Path, write_corpus: Write) -> None:
    train = write_corpus(tmp_path / "a.jsonl", (f"document {n}" for n in range(5000)))
    found = split(train, None, HALF)
    assert len(found.val) == pytest.approx(1000, abs=100)
    assert len(found.probe) == pytest.approx(400, abs=70)
    assert not found.val & found.probe
    assert set(found.duplicates.values()) == {0}


def test_order_and_other_documents_do_not_matter(tmp_path: Path, write_corpus: Write) -> None:
    texts = [f"document {n}" for n in range(300)]
    every = split(write_corpus(tmp_path / "a.jsonl", texts), None, HALF)
    some = split(write_corpus(tmp_path / "b.jsonl", texts[::-2]), None, HALF)
    for text in texts[::-2]:
        name = splits.digest(text)
        assert every.place(name) == some.place(name)


def test_duplicates_are_counted_by_reason(tmp_path: Path, write_corpus: Write) -> None:
    train = write_corpus(tmp_path / "a.jsonl", ["a", "b", "c", "a", "a", "d", "held", "held"])
    evaluation = write_corpus(tmp_path / "b.jsonl", ["held", "e", "e"])
    found = split(train, evaluation, HALF)
    assert found.duplicates == {"train": 3, "val": 1, "train_in_val": 1}
    assert found.val == {splits.digest("held"), splits.digest("e")}


@pytest.mark.parametrize(("documents", "own"), [(1, True), (1, False), (2, False)])
def test_too_few_documents_are_refused(
    tmp_path: Path, write_corpus: Write, documents: int, own: bool
) -> None:
    train = write_corpus(tmp_path / "a.jsonl", [str(n) for n in range(documents)] * 3)
    evaluation = write_corpus(tmp_path / "b.jsonl", ["x"]) if own else None
    with pytest.raises(UserError, match=rf"a\.jsonl: {documents} different documents, too few"):
        split(train, evaluation, HALF)


@pytest.mark.parametrize(("documents", "own"), [(2, True), (3, False)])
def test_every_split_gets_a_document(
    tmp_path: Path, write_corpus: Write, documents: int, own: bool
) -> None:
    train = write_corpus(tmp_path / "a.jsonl", [f"{n}" for n in range(documents)])
    evaluation = write_corpus(tmp_path / "b.jsonl", ["x"]) if own else None
    tiny = Settings(probe_share=1e-9, val_share=1e-9)
    found = split(train, evaluation, tiny)
    assert len(found.val) == len(found.probe) == 1


def test_training_and_held_out_documents_share_nothing(tmp_path: Path, write_corpus: Write) -> None:
    texts = [f"document {n}" for n in range(100)]
    train = write_corpus(tmp_path / "a.jsonl", texts)
    evaluation = write_corpus(tmp_path / "b.jsonl", ["new", "document 7"])
    for path in (None, evaluation):
        both = Documents(train), None if path is None else Documents(path)
        val = splits.held_out(*both, 0.2)
        training = list(splits.training_documents(both[0], val))
        held_out = list(splits.held_out_documents(*both, val))
        assert held_out
        assert not set(training) & set(held_out)
        assert set(training) | set(held_out) >= set(texts)


def test_what_is_removed_goes_nowhere(tmp_path: Path, write_corpus: Write) -> None:
    texts = [f"document {n}" for n in range(100)]
    train = write_corpus(tmp_path / "a.jsonl", texts)
    removed = frozenset(splits.digest(text) for text in texts[:90])
    found = split(train, None, HALF, removed)
    assert not removed & found.probe
    every = frozenset(splits.digest(text) for text in texts)
    with pytest.raises(UserError, match=r"100 different documents, \d\d of them near held-out"):
        split(train, None, HALF, every)
