"""docs/formats.md says what is so: its sections are valid, its records become its texts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from andrea.common.codec import decode
from andrea.config.text import Source
from andrea.corpus.formats import chat, documents
from andrea.corpus.formats.registry import FORMATS
from tests.contract.conftest import ROOT

PAGE = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("section", blocks("yaml"), ids=lambda block: block.split(":")[0])
def test_a_section_is_a_source(section: str) -> None:
    given = YAML(typ="safe", pure=True).load(section)
    assert all(decode(one, Source, f"sources.{name}") for name, one in given.items())


def test_records_become_the_text_that_follows(tmp_path: Path) -> None:
    pairs = re.findall(r"^```json\n([^`]*)^```\n\n[^`]*?^```text\n(.*?)\n```$", PAGE, re.M | re.S)
    assert len(pairs) == 2
    for records, text in pairs:
        (tmp_path / "a.jsonl").write_text(records, encoding="utf-8")
        assert set(documents.read(tmp_path / "a.jsonl")) == {text}


def test_the_other_records_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(blocks("json")[0], encoding="utf-8")
    assert len(list(documents.read(tmp_path / "a.jsonl"))) == 2


def test_every_format_and_every_speaker_is_named() -> None:
    for name in (*FORMATS, *chat.SPEAKERS, *chat.LISTS):
        assert f"`{name}`" in PAGE or f'"{name}"' in PAGE
    headings = ", ".join(re.findall(r"^## (.*)$", PAGE, re.MULTILINE)).split(", ")
    assert set(FORMATS) <= set(headings)
