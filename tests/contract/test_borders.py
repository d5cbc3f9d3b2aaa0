"""What stays inside: the parameters as plain dictionaries, and whatever has an underscore."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.contract.conftest import ROOT, imports

PLAIN = re.compile(r"""\bparams(\[["']|\.get\()""")


def files(*rooms: str) -> list[Path]:
    return sorted(file for room in rooms for file in (ROOT / room).rglob("*.py"))


def name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("file", files("andrea", "stages", "bench"), ids=name)
def test_parameters_are_plain_in_config_alone(file: Path) -> None:
    """Everywhere else they are typed, and cannot be misspelt."""
    if not file.is_relative_to(ROOT / "andrea/config"):
        assert not PLAIN.search(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", files("bench", "tests"), ids=name)
def test_nothing_private_is_imported(file: Path) -> None:
    """Else a name with an underscore could not be changed freely."""
    parts = [part for module in imports(file) for part in module.split(".")]
    assert not [part for part in parts if part.startswith("_") and not part.startswith("__")]
