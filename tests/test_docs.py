"""The commands of the documentation are run, in a small repository in which a run has finished."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from andrea import cli
from andrea.config import reading, tree
from andrea.config.override import override
from andrea.config.training import REGIMES
from tests.repository import ROOT, Repository, build

DOCS = sorted((ROOT / "docs").glob("*.md"))
FENCE = re.compile(r"```(\w*)")
NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
RUN = "<!-- run -->"  # before a block of the README


@dataclass(frozen=True)
class Block:
    """Shell commands of a page, from the line that has the number, and why they are not run."""

    page: str
    line: int
    text: str
    not_run: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Every block that is marked as shell."""
    lines = page.read_text(encoding="utf-8").splitlines()
    place = 0
    while place < len(lines):
        fence = FENCE.fullmatch(lines[place])
        if fence is None:
            assert "```" not in lines[place], f"{page.name}:{place + 1}: a fence that is not alone"
            place += 1
            continue
        end = lines.index("```", place + 1)
        before = lines[place - 1] if place else ""
        marked = NOT_RUN.fullmatch(before)
        reason = marked[1] if marked else None
        if page.name == "README.md" and before != RUN and reason is None:
            reason = "the README shows it only"
        if fence[1] == "sh":
            yield Block(page.name, place + 1, "\n".join(lines[place + 1 : end]), reason)
        place = end + 1


PAGES = [page for page in [*DOCS, ROOT / "README.md"] if any(not b.not_run for b in blocks(page))]
BLOCKS = [block for page in [*DOCS, ROOT / "README.md"] for block in blocks(page)]


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_every_mark_stands_before_a_block(page: Path) -> None:
    """Else it would mark nothing, and look as if it did."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("<!-- not run"):
            assert NOT_RUN.fullmatch(line)
            assert following == "```sh"


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.page != "README.md"], ids=str)
def test_a_block_is_shell(block: Block) -> None:
    subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)


def commands(text: str) -> Iterator[list[str]]:
    """Arguments of every `andrea` in shell text, without pipes and redirections."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        words = list(lexer)
        for start, word in enumerate(words):
            if word == "andrea" and (start == 0 or set(words[start - 1]) <= set("|&;(")):
                rest = words[start + 1 :]
                ends = (n for n, w in enumerate(rest) if set(w) <= set("|&;<>()"))
                yield rest[: next(ends, len(rest))]


CALLS = [(block, call) for block in BLOCKS for call in commands(block.text)]


@pytest.mark.parametrize(("block", "call"), CALLS, ids=str)
def test_a_command_takes_the_arguments_that_are_shown(block: Block, call: list[str]) -> None:
    """Also where a block is not run. What `...` stands for is not known."""
    if "--help" in call:
        with pytest.raises(SystemExit, match=r"^0$"):
            cli.parser().parse_args(call)
    elif "..." not in " ".join(call):
        assert callable(cli.parser().parse_args(call).command)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The small repository after `dvc repro`, with the shipped recipes."""
    folder = tmp_path_factory.mktemp("docs") / "repository"
    folder.mkdir()
    run = build(folder)
    shutil.copytree(ROOT / "recipes", folder / "recipes")
    run("dvc", "repro")
    run("git", "add", "-A")
    run("git", "commit", "-qm", "first run")
    yield folder
    run.stop()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_work(page: Path, trained: Path, tmp_path: Path) -> None:
    """One block after the other, in one copy of the repository."""
    shutil.copytree(trained, tmp_path / "repository", symlinks=True)
    andrea = tmp_path / "bin" / "andrea"
    andrea.parent.mkdir()
    andrea.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m andrea.cli "$@"\n')
    andrea.chmod(0o755)
    run = Repository(tmp_path / "repository")
    try:
        for block in blocks(page):
            if block.not_run is None:
                start = (
                    f"# {block}\nset -euo pipefail; PATH={shlex.quote(str(andrea.parent))}:$PATH\n"
                )
                run("bash", "-c", start + block.text)
    finally:
        run.stop()


def test_the_parameters_of_only_your_own_text_are_valid() -> None:
    """In place of the shipped ones, key by key: no shipped source is named any more."""
    page = (ROOT / "docs" / "own-text.md").read_text(encoding="utf-8")
    text = page.split("## Only your own text")[1].split("```yaml\n")[1].split("```")[0]
    params = reading.load(ROOT / "params.yaml")
    shipped = [*params["sources"]]
    for section, keys in YAML(typ="safe", pure=True).load(text).items():
        params[section] = keys if section == "sources" else {**params[section], **keys}
    tree.read(params)
    for name in (*REGIMES, "tokenizer"):
        assert not any(f"'{source}'" in str(params[name]) for source in shipped)
    [shown] = [
        call for block, call in CALLS if block.page == "own-text.md" and "sources=" in str(call)
    ]
    changed = override(reading.load(ROOT / "params.yaml"), cli.parser().parse_args(shown).change)
    assert changed == {
        **params, "limits": {**params["limits"], "allow_repeats": True}
    }  # fmt: skip
