from __future__ import annotations

from andrea.tokens import encoding


def test_batches_keep_order_and_hold_about_their_size() -> None:
    documents = ["a" * n for n in (5, 1, 30, 0, 2, 2, 9)]
    batches = list(encoding.batches(documents, 10))
    assert [document for batch in batches for document in batch] == documents
    assert all(sum(map(len, batch[:-1])) < 10 for batch in batches)
    assert all(sum(map(len, batch)) >= 10 for batch in batches[:-1])
