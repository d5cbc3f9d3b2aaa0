"""Arrays and rounded floats through the codec."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from andrea.common.codec import decode, encode
from andrea.common.errors import UserError


@dataclass(frozen=True)
class Inner:
    name: str
    kind: Literal["one", "two"]


@dataclass(frozen=True, eq=False)
class Outer:
    floats: NDArray[np.float64]
    single: NDArray[np.float32]
    whole: NDArray[np.integer]
    words: NDArray[np.str_]
    number: float
    maybe: Inner | None
    inner: tuple[Inner, ...]
    listed: list[Inner]
    perhaps: tuple[NDArray[np.float64] | None, ...]
    names: Mapping[str, str]
    yes: bool


PLAIN = Outer(
    np.array([[1.5, math.nan], [math.inf, -math.inf]]),
    np.array([0.1, 2e-30], dtype=np.float32),
    np.arange(3),
    np.array(["ä", ""]),
    math.nan,
    None,
    (Inner("a", "one"),),
    [Inner("b", "two")],
    (None, np.empty((0, 3))),
    {"key": "value"},
    True,
)


def through(value: Outer) -> Outer:
    text = json.dumps(encode(value, 6), allow_nan=False)
    return decode(json.loads(text), Outer, "Outer", nan=True)


def test_everything_comes_back() -> None:
    back = through(PLAIN)
    for name in ("floats", "single", "whole", "words"):
        old, new = getattr(PLAIN, name), getattr(back, name)
        assert old.dtype.kind == new.dtype.kind
        np.testing.assert_array_equal(old, new)
    assert back.single.dtype == np.float32
    assert math.isnan(back.number)
    assert (back.maybe, back.inner, back.listed) == (None, PLAIN.inner, PLAIN.listed)
    assert back.perhaps[0] is None
    assert back.perhaps[1] is not None
    assert back.perhaps[1].shape == (0, 3)
    assert (back.names, back.yes) == (PLAIN.names, True)


@given(arrays.arrays(st.sampled_from([np.float32, np.float64]), st.integers(1, 9)))
def test_six_digits_stay_and_then_nothing_changes(values: NDArray[Any]) -> None:
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    one = replace(PLAIN, floats=values.astype(np.float64), single=single)
    first = encode(one, 6)
    back = through(one)
    assert encode(back, 6) == first
    finite = np.isfinite(values)
    np.testing.assert_allclose(
        back.floats[finite], values[finite].astype(np.float64), rtol=5.1e-6, atol=0
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"number": "many"}, "Outer.number: 'many' is not a number"),
        ({"inner": [{"name": "a"}]}, r"Outer.inner\[0\].kind: missing"),
        ({"inner": {"name": "a"}}, "Outer.inner: .* is not a list"),
        ({"maybe": {"name": "a", "kind": "three"}}, "Outer.maybe.kind: 'three' is not one of"),
        ({"maybe": {"name": 1, "kind": "one"}}, "Outer.maybe.name: 1 is not text"),
        ({"floats": [[1], [1, 2]]}, "Outer.floats: "),
        ({"more": 1}, "Outer.more: unknown"),
    ],
)
def test_another_thing_is_refused_by_name(change: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=f"^{told}"):
        decode({**encode(PLAIN), **change}, Outer, "Outer", nan=True)


def test_what_has_no_json_is_an_error() -> None:
    with pytest.raises(TypeError, match="set has no JSON"):
        encode({1, 2})
