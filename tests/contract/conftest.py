"""What the contract tests know of the repository."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Code that can refuse, show or delay, but not change an output: no stage depends on it.
NEUTRAL = ("stages/_shell.py", "andrea/report/progress.py", "andrea/tracking/")


def imports(file: Path) -> set[str]:
    """Modules that a file names when it runs; what only the type checker reads is left out."""
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


def closure(file: Path, neutral: tuple[str, ...] = NEUTRAL) -> set[str]:
    """Files of this repository that a script imports, itself included, as relative paths."""
    found: set[str] = set()
    waiting = [file]
    while waiting:
        here = waiting.pop()
        name = here.relative_to(ROOT).as_posix()
        if name in found or name.startswith(neutral):
            continue
        found.add(name)
        for module in imports(here):
            path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
            if path.is_file():
                waiting.append(path)
    return found


if __name__ == "__main__":
    for stage in sys.argv[1:]:
        print(stage, *sorted(closure(ROOT / "stages" / f"{stage}.py")), sep="\n      - ")
