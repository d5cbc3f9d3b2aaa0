"""Frozen dataclasses to JSON and back, and what is said of what does not fit."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from andrea.common.codec import Range, decode, encode
from andrea.common.errors import UserError


@dataclass(frozen=True)
class Inner:
    name: str
    kind: Literal["one", "two"] = "one"


class Phase(NamedTuple):
    kind: str
    steps: int
    weight: float


@dataclass(frozen=True)
class Plain:
    """What parameters and notes are made of."""

    number: float
    count: int
    word: str
    yes: bool
    maybe: Inner | None
    inner: tuple[Inner, ...]
    listed: list[Inner]
    pair: tuple[float, int]
    phase: Phase
    names: Mapping[str, float]
    table: dict[str, Inner]
    either: Literal["all"] | tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Measured:
    """What results are made of."""

    floats: NDArray[np.float64]
    single: NDArray[np.float32]
    whole: NDArray[np.integer]
    words: NDArray[np.str_]
    perhaps: tuple[NDArray[np.float64] | None, ...]


WORDS = st.text(st.characters(codec="utf-8"), max_size=5)
FLOATS = st.floats(allow_nan=False)  # NaN equals nothing
INNER = st.builds(Inner, WORDS, st.sampled_from(["one", "two"]))
PLAIN = st.builds(
    Plain, FLOATS, st.integers(), WORDS, st.booleans(), st.none() | INNER,
    st.lists(INNER, max_size=2).map(tuple), st.lists(INNER, max_size=2),
    st.tuples(FLOATS, st.integers()), st.builds(Phase, WORDS, st.integers(), FLOATS),
    st.dictionaries(WORDS, FLOATS, max_size=2),
    st.dictionaries(WORDS, INNER, max_size=2),
    st.just("all") | st.lists(WORDS, max_size=2).map(tuple),
)  # fmt: skip
MEASURED = Measured(
    np.array([[1.5, math.nan], [math.inf, -math.inf]]),
    np.array([0.1, 2e-30], dtype=np.float32),
    np.arange(3),
    np.array(["ä", ""]),
    (None, np.empty((0, 3))),
)
ONE = Plain(
    0.5,
    3,
    "a",
    True,
    None,
    (Inner("a"),),
    [],
    (0.5, 1),
    Phase("a", 1, 0.5),
    {"a": 1.0},
    {"b": Inner("b")},
    "all",
)


def through(value: Any, kind: type, digits: int | None = None) -> Any:
    """By way of text that any reader of JSON takes."""
    text = json.dumps(encode(value, digits), allow_nan=False)
    return decode(json.loads(text), kind, "x", nan=True)


@given(PLAIN)
def test_what_was_encoded_comes_back(value: Plain) -> None:
    assert through(value, Plain) == value


@given(st.floats())
def test_a_float_comes_back_with_every_bit(value: float) -> None:
    """NaN and infinities too."""
    back = through(value, float)  # type: ignore[arg-type]
    if math.isnan(value):
        assert math.isnan(back)
    else:
        assert struct.pack("d", back) == struct.pack("d", value)


@given(PLAIN, st.integers(1, 17))
def test_what_was_rounded_once_is_encoded_to_the_same_text(value: Plain, digits: int) -> None:
    text = json.dumps(encode(value, digits))
    assert json.dumps(encode(through(value, Plain, digits), digits)) == text


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 17))
def test_digits_are_significant_ones(value: float, digits: int) -> None:
    assert encode(value, digits) == pytest.approx(
        value, rel=0.51 * 10.0 ** (1 - digits), abs=1e-322
    )
    assert str(encode(-0.0, digits)) == "0.0"


@given(arrays.arrays(st.sampled_from([np.float32, np.float64]), st.integers(1, 9)))
def test_six_digits_of_an_array_stay_and_then_nothing_changes(values: NDArray[Any]) -> None:
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    one = replace(MEASURED, floats=values.astype(np.float64), single=single)
    back = through(one, Measured, 6)
    assert encode(back, 6) == encode(one, 6)
    finite = np.isfinite(values)
    np.testing.assert_allclose(
        back.floats[finite], values[finite].astype(np.float64), rtol=5.1e-6, atol=0
    )


@pytest.mark.parametrize("digits", [None, 6])
def test_arrays_come_back_in_their_kind_and_shape(digits: int | None) -> None:
    back = through(MEASURED, Measured, digits)
    for name in ("floats", "single", "whole", "words"):
        old, new = getattr(MEASURED, name), getattr(back, name)
        assert old.dtype.kind == new.dtype.kind
        np.testing.assert_array_equal(old, new)
    assert back.single.dtype == np.float32
    assert back.perhaps[0] is None
    assert back.perhaps[1].shape == (0, 3)
    assert back.perhaps[1].dtype == np.float64


def test_numpy_numbers_are_written_as_numbers() -> None:
    values = {"float": np.float64(0.5), "single": np.float32(0.5), "whole": np.int64(3)}
    assert json.dumps(encode(values)) == '{"float": 0.5, "single": 0.5, "whole": 3}'
    assert encode({"nan": np.float32("nan"), "yes": np.bool_(True)}) == {"nan": None, "yes": True}


def test_what_has_no_json_is_an_error() -> None:
    with pytest.raises(TypeError, match="set has no JSON"):
        encode({1, 2})
    with pytest.raises(TypeError, match="type has no JSON"):
        encode(Inner)


def test_a_default_stands_for_what_is_left_out() -> None:
    assert decode({"name": "a"}, Inner, "x") == Inner("a", "one")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"number": "many"}, "x.number: 'many' is not a number"),
        ({"number": "nan"}, "x.number: 'nan' is not a number"),
        ({"count": None}, "x.count: None is not a whole number"),
        ({"word": 1}, "x.word: 1 is not text"),
        ({"word": "half \ud800"}, "x.word: 'half \\ud800' holds half a character (a lone"),
        ({"yes": 1}, "x.yes: 1 is not true or false"),
        ({"maybe": {"name": "a", "kind": "three"}}, "x.maybe.kind: 'three' is not one of one, two"),
        ({"maybe": {"name": 1, "kind": "one"}}, "x.maybe.name: 1 is not text"),
        ({"maybe": 3}, "x.maybe: 3 is not a section"),
        ({"inner": [{"kind": "one"}]}, "x.inner[0].name: missing"),
        ({"inner": {"name": "a"}}, "x.inner: {'name': 'a'} is not a list"),
        ({"pair": [1]}, "x.pair: [1] has not 2 entries"),
        ({"phase": ["a", 1]}, "x.phase: ['a', 1] has not 3 entries"),
        ({"phase": ["a", 1, "b"]}, "x.phase[2]: 'b' is not a number"),
        ({"pair": [1, 0.5]}, "x.pair[1]: 0.5 is not a whole number"),
        ({"names": [1]}, "x.names: [1] is not a mapping of names to values"),
        ({"names": None}, "x.names: None is not a mapping of names to values; write {} for none"),
        ({"names": {1: 0.5}}, "x.names: the name 1 is not text"),
        ({"names": {"a": "b"}}, "x.names.a: 'b' is not a number"),
        ({"either": "most"}, "x.either: 'most' is not one of all; or x.either: 'most' is not a"),
        ({"more": 1}, "x.more: unknown, allowed are number, count, word, yes, maybe, inner,"),
    ],
)
def test_another_thing_is_refused_by_name(change: dict[str, Any], told: str) -> None:
    """In one line: the key, the value, what is allowed."""
    with pytest.raises(UserError) as caught:
        decode({**encode(ONE), **change}, Plain, "x", nan=True)
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("floats", [[[1], [1, 2]], ["a"], {}, {"shape": "a"}])
def test_what_is_no_array_is_refused_by_name(floats: Any) -> None:
    with pytest.raises(UserError, match=r"^x\.floats: "):
        decode({**encode(MEASURED), "floats": floats}, Measured, "x", nan=True)


@pytest.mark.parametrize("value", [[], None, 3, "x"])
def test_what_is_no_object_is_refused(value: Any) -> None:
    with pytest.raises(UserError, match=r"^x: .* is not a section"):
        decode(value, Inner, "x")


@given(st.integers(-(10**15), 10**15))
def test_a_whole_number_serves_where_any_number_is_meant(number: int) -> None:
    """`-S x=1` gives an int; it becomes the float of the same value."""
    read = decode(number, float, "x")
    assert type(read) is float
    assert read == number


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("value", [True, False, None, "1", "inf", [1], math.inf, math.nan])
def test_what_is_no_number(kind: type, value: Any) -> None:
    """A boolean least of all, though Python calls it an int; in parameters nothing is infinite."""
    with pytest.raises(UserError, match=r"^x: .* is not a"):
        decode(value, kind, "x")


def test_a_fraction_is_no_whole_number() -> None:
    """Not even one that happens to be whole: 2.0 steps are a typing mistake."""
    with pytest.raises(UserError, match=r"x: 2\.0 is not a whole number"):
        decode(2.0, int, "x")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_ranges_are_closed_unless_said(number: float) -> None:
    """`from 0 to 1, not 0` leaves out 0 alone."""
    share = Annotated[float, Range(0, 1, above=True)]
    if 0 < number <= 1:
        assert decode(number, share, "x") == number
    else:
        with pytest.raises(UserError, match="must be from 0 to 1, not 0"):
            decode(number, share, "x")


@given(st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 1.0]))
def test_either_end_can_be_left_out(number: float) -> None:
    """`below` leaves out the upper one."""
    decay = Annotated[float, Range(0, 1, below=True)]
    if 0 <= number < 1:
        assert decode(number, decay, "x") == number
    else:
        with pytest.raises(UserError, match="must be from 0 to 1, not 1"):
            decode(number, decay, "x")
