from __future__ import annotations

import copy
from typing import Any

import pytest

from andrea.common.errors import UserError
from andrea.config import tokenizer


@pytest.mark.parametrize(
    ("weights", "found"),
    [
        ({"a": 1, "b": 0, "c": 0.5}, {"a": 1, "b": 0, "c": 0.5}),
        ({"a": 1, "b": 0}, {"a": 1, "b": 0, "c": 0.5}),
        ({}, {"a": 1, "b": 1, "c": 1}),
    ],
)
def test_a_source_that_is_not_named_has_the_mean(
    shipped: dict[str, Any], weights: dict[str, float], found: dict[str, float]
) -> None:
    params = copy.deepcopy(shipped)
    params["tokenizer"]["weights"] = weights
    assert tokenizer.read(params, ["a", "b", "c"]).weights == found


def test_a_weight_of_no_source_is_refused(shipped: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"tokenizer\.weights\.chat: unknown source"):
        tokenizer.read(shipped, ["hermes3-general", "hermes3-creative", "hermes3-roleplay"])
