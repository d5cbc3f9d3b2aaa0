"""YAML as DVC reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from andrea.common.errors import UserError
from andrea.config.reading import load


def read(tmp_path: Path, text: str) -> dict[str, Any]:
    file = tmp_path / "params.yaml"
    file.write_text(text, encoding="utf-8")
    return load(file)


def test_numbers_and_words_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    """Where PyYAML would read text, true and 8."""
    params = read(tmp_path, "rate: 3e-4\nswitch: on\nold: 010\nyes: no\nsure: true\n")
    assert params == {"rate": 0.0003, "switch": "on", "old": 10, "yes": "no", "sure": True}


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
