"""The map of the repository, from what each module says of itself.

`python -m tests.contract.tree` writes it to docs/map.md.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAP = ROOT / "docs/map.md"
FOLDERS = ("andrea", "stages", "bench")
COLUMN = 33
HEAD = """# Map

Every module and what it is for. Rooms of `andrea/` know only those below them, which
[a test](../tests/contract/test_layers.py) checks. `python -m tests.contract.tree` writes this page.

"""


def page() -> str:
    """The text of docs/map.md."""
    lines = [line for folder in FOLDERS for line in _lines(ROOT / folder, 0)]
    return f"{HEAD}```\n" + "\n".join(lines) + "\n```\n"


def _lines(folder: Path, depth: int) -> Iterator[str]:
    yield "  " * depth + f"{folder.name}/"
    paths = [path for path in folder.iterdir() if path.name not in ("__init__.py", "__pycache__")]
    for path in sorted(paths, key=lambda path: (path.is_dir(), path.name)):
        if path.is_dir():
            yield from _lines(path, depth + 1)
        elif path.suffix == ".py":
            yield ("  " * (depth + 1) + path.name).ljust(COLUMN) + purpose(path)


def purpose(module: Path) -> str:
    """The first paragraph of a module's docstring, in one line without its full stop."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    assert docstring is not None, f"{module}: no docstring"
    return docstring.split("\n\n")[0].replace("\n", " ").rstrip(".")


if __name__ == "__main__":
    MAP.write_text(page(), encoding="utf-8")
