"""What stays inside: the parameters as plain dictionaries, and whatever has an underscore."""

from __future__ import annotations

import re
from pathlib import Path

from tests.contract.conftest import ROOT, imports

PLAIN = re.compile(r"""\bparams(\[["']|\.get\()""")


def files(*rooms: str) -> list[Path]:
    return sorted(file for room in rooms for file in (ROOT / room).rglob("*.py"))


def name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def test_parameters_are_plain_in_config_alone() -> None:
    """Everywhere else they are typed, and cannot be misspelt."""
    found = [
        name(file)
        for file in files("andrea", "stages", "bench")
        if not file.is_relative_to(ROOT / "andrea/config")
        and PLAIN.search(file.read_text(encoding="utf-8"))
    ]
    assert not found, found


def test_nothing_private_is_imported() -> None:
    """Else a name with an underscore could not be changed freely."""
    found = [
        (name(file), module)
        for file in files("bench", "tests")
        for module in sorted(imports(file))
        if any(part.startswith("_") and not part.startswith("__") for part in module.split("."))
    ]
    assert not found, found
