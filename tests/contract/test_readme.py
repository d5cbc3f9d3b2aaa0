"""The README's tree has every module, with what the module says of itself."""

from __future__ import annotations

import ast

import pytest

from bench.recipes import RECIPES
from tests.contract.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
MODULES = sorted(
    path
    for folder in ("andrea", "stages", "bench")
    for path in (ROOT / folder).rglob("*.py")
    if path.name != "__init__.py"
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_tree_has_every_module(path) -> None:  # type: ignore[no-untyped-def]
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring is not None
    purpose = docstring.split("\n\n")[0].replace("\n", " ").rstrip(".")
    lines = [line.split(maxsplit=1) for line in README.splitlines() if path.name in line]
    assert [path.name, purpose] in lines


def test_the_tree_has_no_module_that_is_gone() -> None:
    tree = README.split("## Tree")[1].split("```")[1]
    named = [line.split()[0] for line in tree.splitlines() if ".py " in line]
    assert sorted(named) == sorted(path.name for path in MODULES)


@pytest.mark.parametrize("name", RECIPES)
def test_the_line_of_a_recipe_is_the_one_that_was_measured(name: str) -> None:
    line = " ".join([f"dvc exp run -n {name}", *(f"-S {change}" for change in RECIPES[name])])
    assert line in README.splitlines()
