"""YAML as DVC reads it, and the types that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.codec import Range, decode, leaf, load
from andrea.common.errors import UserError


def read(tmp_path: Path, text: str) -> dict[str, Any]:
    file = tmp_path / "params.yaml"
    file.write_text(text, encoding="utf-8")
    return load(file)


def test_numbers_and_words_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    """Where PyYAML would read text, true and 8."""
    params = read(tmp_path, "rate: 3e-4\nswitch: on\nold: 010\nyes: no\n")
    assert leaf(params, "rate", float) == 0.0003
    assert leaf(params, "switch", str) == "on"
    assert leaf(params, "old", int) == 10
    assert leaf(params, "yes", str) == "no"


def test_words_that_look_like_switches_are_no_booleans(tmp_path: Path) -> None:
    """`on` must not turn anything on by accident, and is refused rather than guessed."""
    params = read(tmp_path, "switch: on\nsure: true\n")
    assert leaf(params, "sure", bool) is True
    with pytest.raises(UserError, match="switch: 'on' is not true or false"):
        leaf(params, "switch", bool)


@given(st.integers(-(10**15), 10**15))
def test_a_whole_number_serves_where_any_number_is_meant(number: int) -> None:
    """`-S x=1` gives an int; it becomes the float of the same value."""
    read = decode(number, float, "x")
    assert type(read) is float
    assert read == number


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("value", [True, False, None, "1", [1], float("inf"), float("nan")])
def test_what_is_no_number(kind: type, value: Any) -> None:
    """A boolean least of all, though Python calls it an int."""
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


def test_names_in_a_mapping_are_text(tmp_path: Path) -> None:
    """`1: 0.5` names no source."""
    params = read(tmp_path, "floors: {1: 0.5}\n")
    with pytest.raises(UserError, match="floors: the name 1 is not text"):
        leaf(params, "floors", Mapping[str, float])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: [1\n", "not valid YAML"),
        ("a: 1\na: 2\n", r'line 2, column 1: found duplicate key "a" .*"1"\)$'),
        ("- 1\n", "must hold sections"),
        ("", "must hold sections"),
        ("a: !!python/object:os.system {}\n", "not valid YAML"),
    ],
)
def test_what_is_no_parameter_file(tmp_path: Path, text: str, reason: str) -> None:
    """One line, the file first."""
    with pytest.raises(UserError, match=reason) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "params.yaml"))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    """Both are the user's to mend."""
    with pytest.raises(UserError, match="No such file"):
        load(tmp_path / "params.yaml")
    (tmp_path / "params.yaml").write_bytes(b"a: \xff\n")
    with pytest.raises(UserError, match="not UTF-8"):
        load(tmp_path / "params.yaml")
