from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from andrea.config import tree

SOURCES = {name: {"path": f"data/raw/{name}", "train": "."} for name in "abc"}


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({"a": 1, "b": 0, "c": 0.5}, {"a": 1, "b": 0, "c": 0.5}),
        ({"a": 1, "b": 0}, {"a": 1, "b": 0, "c": 0.5}),
        ({}, {"a": 1, "b": 1, "c": 1}),
    ],
)
def test_a_source_that_is_not_named_has_the_mean(
    changed: Callable[..., dict[str, Any]], weights: dict[str, float], expected: dict[str, float]
) -> None:
    """In the order of the sources; which weights name no source, `test_tree` refuses."""
    params = changed({
        "sources": SOURCES, "tokenizer.weights": weights, "warmup.sources": "all",
        "polish.priority": "a", "polish.floors": {}, "polish.caps": {},
    })  # fmt: skip
    assert list(tree.read(params).tokenizer.weights.items()) == list(expected.items())
