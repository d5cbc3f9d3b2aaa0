from __future__ import annotations

from pathlib import Path

import pytest

from andrea.common.errors import UserError
from andrea.corpus import splits
from andrea.corpus.documents import digest

PATH = Path("a.jsonl")


def names(count: int) -> list[bytes]:
    return [digest(f"document {n}") for n in range(count)]


def test_shares_are_about_those_asked_for_and_apart() -> None:
    every = names(5000)
    val = splits.held_out(every, 0.2, PATH)
    probe = splits.probes([name for name in every if name not in val], 0.1)
    assert len(val) == pytest.approx(1000, abs=100)
    assert len(probe) == pytest.approx(400, abs=70)
    assert not val & probe


def test_order_and_other_documents_do_not_matter() -> None:
    every = names(300)
    some = every[::-2]
    assert splits.held_out(some, 0.2, PATH) == splits.held_out(every, 0.2, PATH) & set(some)
    assert splits.probes(some, 0.1) == splits.probes(every, 0.1) & set(some)


def test_all_of_a_sources_own_evaluation_text_is_held_out() -> None:
    assert splits.held_out(names(9), None, PATH) == set(names(9))


def test_the_smallest_share_takes_one_document() -> None:
    assert len(splits.held_out(names(9), 1e-9, PATH)) == 1
    assert len(splits.probes(names(9), 1e-9)) == 1
    assert splits.probes([], 0.1) == frozenset()


@pytest.mark.parametrize("share", [None, 0.1])
def test_held_out_text_without_a_word_is_refused(share: float | None) -> None:
    with pytest.raises(UserError, match=r"^a\.jsonl: no held-out document has any text; add some"):
        splits.held_out([digest("")], share, PATH)
