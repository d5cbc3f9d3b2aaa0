"""All that decides the bytes of a regime's result, as dotted names and plain values."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from andrea.common.codec import encode, leaves
from andrea.common.files import sha256

ROOT = Path(__file__).parents[2]

# Folders and files that can refuse, show, delay or take up again, but not change a result: no stage
# depends on them, and a run goes on after they have changed.
NEUTRAL = (
    "andrea/config/outside.py", "andrea/planning/", "andrea/scratch/", "andrea/shell/",
    "andrea/tracking/",
)  # fmt: skip


def describe(values: Mapping[str, Any], script: Path) -> dict[str, Any]:
    """What two runs must share for one to go on where the other stopped.

    Args:
        values: sections by their names, as `codec.encode` takes them.
        script: file of the code that makes the result; all that it imports counts too.
    """
    code = {name: sha256(ROOT / name) for name in sorted(closure(script))}
    return dict(leaves({**encode(values), "code": code}))


def closure(script: Path, neutral: tuple[str, ...] = NEUTRAL) -> set[str]:
    """Files of this repository that a script imports and that decide results, itself included.

    Imports inside functions count, and those that only the type checker reads do not.

    Args:
        neutral: folders and files that are left out, with all that they import.

    Returns:
        Paths from the repository's root.
    """
    reached: set[str] = set()
    waiting = [script.resolve()]
    while waiting:
        file = waiting.pop()
        name = file.relative_to(ROOT).as_posix()
        if name not in reached and not name.startswith(neutral):
            reached.add(name)
            modules = (ROOT.joinpath(*module.split(".")) for module in imports(file))
            waiting += [path for path in (m.with_suffix(".py") for m in modules) if path.is_file()]
    return reached


def imports(file: Path) -> set[str]:
    """Modules that a file names when it runs, and what it takes from them."""
    names: set[str] = set()
    for node in _running(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def _running(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _running(child)
