"""What the contract tests know of the repository."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]

# Code that can refuse, show, delay or take up again, but not change an output: no stage depends
# on it.
NEUTRAL = (
    "andrea/config/scratch.py", "andrea/planning/", "andrea/shell/",
    "andrea/scratch/", "andrea/tracking/",
)  # fmt: skip


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


@dataclass(frozen=True)
class Stage:
    """One stage of `dvc.yaml`, its templates filled in; `word` is its name without `@source`."""

    word: str
    command: str
    params: tuple[str, ...]
    deps: tuple[str, ...]
    outs: tuple[str, ...]
    always: bool


def pipeline() -> dict[str, Any]:
    """`dvc.yaml` as it is written."""
    read: dict[str, Any] = YAML(typ="safe", pure=True).load(ROOT / "dvc.yaml")
    return read


def stages(params: Mapping[str, Any]) -> dict[str, Stage]:
    """Every stage that `dvc.yaml` makes of some parameters."""
    found = {}
    for word, entry in pipeline()["stages"].items():
        if "foreach" not in entry:
            found[word] = _stage(word, entry, params)
            continue
        for key, item in params["sources"].items():
            found[f"{word}@{key}"] = _stage(word, entry["do"], {**params, "key": key, "item": item})
    return found


def _stage(word: str, entry: Mapping[str, Any], values: Mapping[str, Any]) -> Stage:
    def filled(text: str) -> str:
        return re.sub(r"\$\{(.+?)\}", lambda found: str(value_at(values, found[1])), text)

    def column(name: str) -> tuple[str, ...]:
        return tuple(
            filled(x if isinstance(x, str) else next(iter(x))) for x in entry.get(name, ())
        )

    return Stage(
        word,
        filled(entry["cmd"]),
        column("params"),
        column("deps"),
        column("outs"),
        entry.get("always_changed", False),
    )


def value_at(tree: Any, key: str) -> Any:
    """What stands under a dotted key."""
    for name in key.split("."):
        tree = tree[name]
    return tree


if __name__ == "__main__":
    for stage in sys.argv[1:]:
        print(stage, *sorted(closure(ROOT / "stages" / f"{stage}.py")), sep="\n      - ")
