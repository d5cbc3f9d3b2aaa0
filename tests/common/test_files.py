"""Files and folders are whole or not there."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.files import (
    read_json,
    sha256,
    strict_json,
    whole_file,
    whole_folder,
    write_json,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text("abc"), values),
    max_leaves=6,
)  # fmt: skip


class StopError(Exception):
    """In place of whatever ends a block."""


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("before", [None, b"old"])
def test_a_file_takes_its_place_only_when_it_is_whole(
    tmp_path: Path, before: bytes | None, sync: bool
) -> None:
    path = tmp_path / "file.bin"
    if before is not None:
        path.write_bytes(before)
    with pytest.raises(StopError), whole_file(path, sync=sync) as part:
        part.write_bytes(b"half")
        raise StopError
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [before] * (before is not None)
    with whole_file(path, sync=sync) as part:
        part.write_bytes(b"new")
        assert (path.read_bytes() if path.exists() else None) == before
    assert [file.name for file in tmp_path.iterdir()] == ["file.bin"]
    assert path.read_bytes() == b"new"


def test_two_processes_do_not_write_the_same_part(tmp_path: Path) -> None:
    with whole_file(tmp_path / "file") as part:
        part.touch()
        assert str(os.getpid()) in part.name
        assert part.parent == tmp_path


def test_a_block_that_wrote_no_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "file"):
        pass


def test_a_folder_takes_its_place_only_when_it_is_whole(tmp_path: Path) -> None:
    """What an interrupted block left is gone the next time, and so is the folder of before."""
    path = tmp_path / "deep" / "folder"
    with pytest.raises(StopError), whole_folder(path) as part:
        (part / "a").touch()
        raise StopError
    assert not path.exists()
    with whole_folder(path) as part:
        assert list(part.iterdir()) == []
        (part / "b").touch()
        assert not path.exists()
    assert [file.name for file in path.iterdir()] == ["b"]
    with whole_folder(path) as part:
        (part / "c").touch()
        assert (path / "b").exists()
    assert [file.name for file in path.iterdir()] == ["c"]
    assert [file.name for file in path.parent.iterdir()] == ["folder"]


@given(value=JSON)
def test_json_comes_back(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "value.json"
    write_json(path, value)
    assert read_json(path) == value
    assert strict_json(path.read_bytes()) == value


def test_equal_values_give_equal_bytes(tmp_path: Path) -> None:
    write_json(tmp_path / "a", {"b": [1, "ä"], "a": 0.5})
    write_json(tmp_path / "b", {"a": 0.5, "b": [1, "ä"]})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_text(encoding="utf-8").endswith("}\n")


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_json_has_no_word_for_what_is_not_finite(tmp_path: Path, number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "a", {"x": number})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "a": 2}', "a name stands in it twice"),
        ("[NaN]", "NaN is not a number"),
        ("[-Infinity]", "-Infinity is not a number"),
        ("{", "Expecting"),
        ("", "Expecting"),
    ],
)
def test_json_from_elsewhere_is_read_in_one_way_or_not_at_all(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        strict_json(text)


def test_json_that_is_too_deep() -> None:
    with pytest.raises(RecursionError):
        strict_json("[" * 100_000)


def test_the_digest_is_that_of_all_bytes(tmp_path: Path) -> None:
    content = json.dumps(list(range(100_000))).encode()
    (tmp_path / "a").write_bytes(content)
    assert sha256(tmp_path / "a") == hashlib.sha256(content).hexdigest()
