"""Changes typed after `-S`."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.errors import UserError
from andrea.config.override import override

Params = dict[str, Any]
TEXTS = st.text("aö€: #-,[{1.", max_size=9)
VALUES = st.one_of(st.booleans(), st.integers(), TEXTS, st.lists(st.integers()))


def test_values_are_yaml_1_2(shipped: Params) -> None:
    """As DVC would read them from the file."""
    before = copy.deepcopy(shipped)
    changed = override(
        shipped,
        [
            "scales.laptop.lr=3e-4",
            "+polish.floors.gutenberg=0.05",  # as DVC wants a new key
            "scale=tiny",
            "polish.end=1",
        ],
    )
    assert changed["scales"]["laptop"]["lr"] == 0.0003
    assert changed["polish"]["floors"]["gutenberg"] == 0.05
    assert (changed["scale"], changed["polish"]["end"]) == ("tiny", 1)
    assert shipped == before


@given(VALUES)
def test_every_value_can_be_typed(value: Any) -> None:
    """The last change of a key wins."""
    typed = json.dumps(value, ensure_ascii=False)
    assert override({"a": {"b": 1}}, ["a.b=0", f"a.b={typed}"]) == {"a": {"b": value}}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("polish.floor", "must be key=value"),
        ("=1", "must be key=value"),
        ("polish..floor=1", "must be key=value"),
        ("polihs.floor=1", "there is no such parameter"),
        ("polish.floor.x=1", "there is no such parameter"),
        ("polihs=1", "there is no such parameter"),
        ("polish.floor=[1", "'[1' is not a YAML value"),
    ],
)
def test_what_is_no_change(shipped: Params, change: str, reason: str) -> None:
    """One line that repeats what was typed."""
    with pytest.raises(UserError) as caught:
        override(shipped, [change])
    assert str(caught.value).startswith(f"-S {change}: ")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
