"""What the README and the page of recipes say of the code is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.recipes import RECIPES
from tests.contract.conftest import ROOT

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TREE = README.partition("## Tree")[2].partition("```\n\n")[0].replace(",", "")
RECIPES_PAGE = (ROOT / "docs/recipes.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "room", sorted(path.parent.name for path in (ROOT / "andrea").glob("*/__init__.py"))
)
def test_every_room_is_introduced(room: str) -> None:
    assert f"{room}/" in TREE.split()


@pytest.mark.parametrize("name", RECIPES)
def test_the_line_of_a_recipe_is_the_one_that_was_measured(name: str) -> None:
    line = " ".join([f"dvc exp run -n {name}", *(f"-S {change}" for change in RECIPES[name])])
    assert line in RECIPES_PAGE.splitlines()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    local = [link for link in links if not link.startswith("http")]
    assert [link for link in local if not (page.parent / link).exists()] == []
