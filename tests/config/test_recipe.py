"""Recipes against the shipped parameters: what they change, and that nothing else is touched."""

from __future__ import annotations

import argparse
import copy
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.commands import recipe as command
from andrea.common.errors import UserError
from andrea.config import reading, recipe, tree
from andrea.corpus import hub

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "params.yaml").read_text(encoding="utf-8")
SHIPPED = reading.load(ROOT / "params.yaml")
RECIPES = sorted((ROOT / "recipes").glob("*.yaml"))
LARGE = reading.load(ROOT / "recipes/andrea-120m.yaml")

Capture = pytest.CaptureFixture[str]
KEYS = st.sampled_from("abcd")
TREES = st.recursive(
    st.one_of(st.integers(), st.none(), st.lists(st.integers(), max_size=2)),
    lambda values: st.dictionaries(KEYS, values, max_size=3),
    max_leaves=12,
)
SECTIONS = st.dictionaries(KEYS, TREES, max_size=4)


@given(SECTIONS, SECTIONS)
def test_merging(params: dict[str, Any], new: dict[str, Any]) -> None:
    """Twice is as good as once, nothing is left to change, and what is merged is not touched."""
    before = copy.deepcopy((params, new))
    both = recipe.merged(params, new)
    assert recipe.changes(both, new) == {}
    assert recipe.merged(both, new) == both
    assert (recipe.changes(params, new) == {}) == (both == params)
    assert set(both) == set(params) | set(new)
    assert (params, new) == before


def test_no_change_leaves_every_byte() -> None:
    assert recipe.write(TEXT, {}) == TEXT
    assert recipe.write(TEXT, SHIPPED) == TEXT


def test_comments_stay() -> None:
    written = recipe.write(TEXT, {"seed": 8, "polish": {"floor": 0.5}})
    old, new = TEXT.splitlines(), written.splitlines()
    assert len(old) == len(new)
    changed = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    assert [re.sub(r"\s+", " ", b) for _, b in changed] == [
        re.sub(r"\s+", " ", a).replace("seed: 7", "seed: 8").replace("floor: 0.7", "floor: 0.5")
        for a, _ in changed
    ]
    assert len(changed) == 2


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_shipped_recipe_is_valid_and_changes_what_it_names(path: Path, tmp_path: Path) -> None:
    """What is written reads as what was merged; each named value differs; all else is shipped."""
    new = reading.load(path)
    both = recipe.merged(SHIPPED, new)
    tree.read(both)
    (tmp_path / "params.yaml").write_text(recipe.write(TEXT, new), encoding="utf-8")
    assert reading.load(tmp_path / "params.yaml") == both
    changed = recipe.changes(SHIPPED, new)
    assert changed
    for key in changed:
        *sections, last = key.split(".")
        place, shipped = both, SHIPPED
        for section in sections:
            place, shipped = place[section], shipped[section]
        if last in shipped:
            place[last] = shipped[last]
        else:
            del place[last]
    assert both == SHIPPED


def test_the_large_recipe_is_the_given_run() -> None:
    config = tree.read(recipe.merged(SHIPPED, LARGE))
    assert config.scale.parameters == 98_698_752
    assert config.scale.steps == 200_000
    assert list(config.sources) == list(SHIPPED["sources"])


def test_the_large_recipe_can_be_fetched_or_asks_for_a_revision() -> None:
    """And nothing would be fetched into a folder of the shipped text."""
    named = tree.read(recipe.merged(SHIPPED, LARGE)).sources
    asked = []
    for name, source in named.items():
        if source.hub is None:
            assert SHIPPED["sources"][name]["path"] == source.path
            continue
        assert source.path == f"data/raw/hub/{name}"
        try:
            hub.check(source, f"sources.{name}")
        except UserError as error:
            assert str(error).startswith(f"sources.{name}.hub.revision: None")
            asked.append(name)
    assert asked == ["hermes3-general", "oasst"]
    assert {name for name, source in named.items() if source.hub} == {*asked, "smoltalk"}


def test_the_large_recipe_speaks_of_every_source() -> None:
    text = (ROOT / "recipes/andrea-120m.yaml").read_text(encoding="utf-8")
    for name in SHIPPED["sources"]:
        assert name in text


def run(capsys: Capture, *arguments: str) -> list[str]:
    """As `andrea recipe` with the arguments; what it printed."""
    parser = argparse.ArgumentParser()
    command.add(parser.add_subparsers())
    given_ = parser.parse_args(["recipe", *arguments])
    assert given_.command(given_) == 0
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shipped parameters, alone, in a folder below the current one."""
    (tmp_path / "params.yaml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    return tmp_path


def test_the_command(repository: Path, capsys: Capture) -> None:
    Path("mine.yaml").write_text("polish: {floor: 0.5}\nseed: 7\n", encoding="utf-8")
    assert run(capsys, "mine.yaml", "--show") == ["polish.floor: 0.5"]
    assert (repository / "params.yaml").read_text(encoding="utf-8") == TEXT
    assert run(capsys, "below/mine.yaml") == ["polish.floor: 0.5"]
    assert reading.load(repository / "params.yaml")["polish"]["floor"] == 0.5
    assert run(capsys, "below/mine.yaml") == ["nothing changed"]
    assert {path.name for path in repository.iterdir()} == {"params.yaml", "below"}


def test_the_command_refuses_a_recipe_that_is_not_valid(repository: Path, capsys: Capture) -> None:
    Path("mine.yaml").write_text("polish: {floor: 1.5}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"polish.floor: 1.5 is not allowed"):
        run(capsys, "mine.yaml")
    Path("mine.yaml").write_text("polsh: {floor: 0.5}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"polsh: unknown section"):
        run(capsys, "mine.yaml")
    with pytest.raises(UserError, match=r"none.yaml: cannot be read"):
        run(capsys, "none.yaml")
    assert (repository / "params.yaml").read_text(encoding="utf-8") == TEXT
