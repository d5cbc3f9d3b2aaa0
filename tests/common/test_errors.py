"""A user's mistake passes every handler that does not name it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from andrea.common.errors import UserError

ROOT = Path(__file__).parents[2]
MAKING = ("__init__", "__post_init__")  # run where a class is called
# Where ValueError is caught and a mistake passes by, with the words that it has already.
PASSED_BY = {
    "andrea.corpus.formats.repository UserError",
    "andrea.exporting.tasks UserError",
    "andrea.exporting.untrusted UserError",
    "andrea.exporting.untrusted read_tensors",
    "andrea.geometry.heads.measure.measure _prompt",
    "andrea.tokens.shards UserError",
}
MISTAKE = "andrea.common.errors.UserError"


def test_it_is_no_value_error() -> None:
    assert UserError.__bases__ == (Exception,)


@cache
def modules() -> dict[str, ast.Module]:
    files = [file for room in ("andrea", "stages", "bench") for file in (ROOT / room).rglob("*.py")]
    names = (".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files)
    return {
        name: ast.parse(file.read_text()) for name, file in zip(names, files, strict=True)
    }  # fmt: skip


@cache
def imported(module: str) -> dict[str, str]:
    """Dotted names by the names that a module knows them by, its own functions among them."""
    known = {}
    for node in ast.walk(modules()[module]):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            known[node.name] = f"{module}.{node.name}"
    return known


def used(module: str, nodes: Iterable[ast.AST]) -> set[str]:
    """Dotted names of what is called or handed on there."""
    known, found = imported(module), set()
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        if isinstance(node, ast.Name):
            found.add(known.get(node.id, node.id))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            of_module = f"{known.get(node.value.id, '')}.{node.attr}"
            found.add(known.get(node.attr, "") if node.value.id == "self" else of_module)
    return found


@cache
def raising() -> frozenset[str]:
    """Functions and classes of ours that can raise it themselves or by what they call."""
    bodies: dict[str, set[str]] = {}
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                bodies[f"{module}.{node.name}"] = used(module, node.body)
            elif isinstance(node, ast.ClassDef):
                made_by = [n for n in node.body if getattr(n, "name", None) in MAKING]
                bodies[f"{module}.{node.name}"] = used(module, made_by)
    found = {MISTAKE}
    while more := {name for name, names in bodies.items() if names & found} - found:
        found |= more
    return frozenset(found)


def unnamed() -> Iterator[str]:
    """Where ValueError is caught, a mistake can be raised, and no handler names it."""
    for module, tree in modules().items():
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.Try)):
            caught = used(module, (handler.type for handler in node.handlers if handler.type))
            if "ValueError" in caught and not caught & {MISTAKE, "Exception"}:
                raised = used(module, node.body) & raising()
                yield from (f"{module} {name.rpartition('.')[2]}" for name in raised)


def test_whoever_catches_value_errors_says_what_becomes_of_mistakes() -> None:
    assert set(unnamed()) == PASSED_BY
