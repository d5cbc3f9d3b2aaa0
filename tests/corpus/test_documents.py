"""The one format behind the stage `documents`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from andrea.common import files
from andrea.common.errors import UserError
from andrea.corpus import collect, documents
from andrea.corpus.documents import Document, Writer
from andrea.corpus.text import Text


def write(path: Path, rows: list[Document]) -> dict[str, Any]:
    with Writer(path) as writer:
        for row in rows:
            writer.add(row)
    return writer.summary()


@given(st.lists(st.text(st.characters(codec="utf-8"))))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_what_is_written_is_read_back(tmp_path: Path, texts: list[str]) -> None:
    rows = [Document(text, place, place % 3 + 1) for place, text in enumerate(texts)]
    summary = write(tmp_path / "a.parquet", rows)
    assert list(documents.read(tmp_path / "a.parquet")) == rows
    assert summary["documents"] == len(texts)
    assert summary["bytes"] == len("".join(texts).encode())


def test_equal_documents_give_equal_bytes_and_groups_do_not_change_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [Document(f"document {n}", n, 1) for n in range(100)]
    one, other = (write(tmp_path / name, rows) for name in ("a.parquet", "b.parquet"))
    assert one == other
    monkeypatch.setattr(documents, "GROUP_CHARACTERS", 50)
    write(tmp_path / "c.parquet", rows)
    assert list(documents.read(tmp_path / "c.parquet")) == rows


def test_other_tools_read_it(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", [Document("héllo", 0, 1), Document("", 1, 2)])
    frame = pd.read_parquet(tmp_path / "a.parquet")
    assert frame.to_dict("list") == {"text": ["héllo", ""], "place": [0, 1], "copies": [1, 2]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Documents of one text."""
    (tmp_path / "raw").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "raw" / f"{name}.txt").write_text(name if name != "c" else "a")
    collect.write_held_out(tmp_path / "ood", Text(tmp_path / "raw", "text"))
    return tmp_path / "ood"


def test_a_text_for_evaluation_alone_is_all_held_out(folder: Path) -> None:
    opened = documents.open_documents(folder)
    assert list(opened.texts("val")) == ["a", "b"]
    assert list(opened.held_out()) == ["a", "a", "b"]
    assert opened.manifest["duplicates"] == {"val": 1}
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "val.parquet"]


def test_damage_is_told_in_a_line_that_names_the_file(folder: Path) -> None:
    path = folder / "val.parquet"
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole + b"0", whole[:40] + b"0" + whole[41:]):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"^documents ood: .*val\.parquet was changed after"):
            documents.open_documents(folder)
    path.unlink()
    with pytest.raises(UserError, match=r"val\.parquet is missing; `dvc repro -f -s ood`"):
        documents.open_documents(folder)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"format": 0}', '{"format": 1, "splits": 3}'])
def test_a_damaged_manifest_is_named(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text)
    with pytest.raises(UserError, match=r"^documents ood: .*manifest\.json is damaged"):
        documents.open_documents(folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(UserError, match=r"^documents ood: .*manifest\.json is missing"):
        documents.open_documents(folder)


def test_an_error_names_the_stage_of_a_source(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="`dvc repro -f -s documents@chat` writes it anew"):
        documents.open_documents(tmp_path / "documents" / "chat")


def test_the_manifest_holds_the_hashes_of_its_files(folder: Path) -> None:
    manifest = files.read_json(folder / "manifest.json")
    assert manifest["splits"]["val"]["sha256"] == files.sha256(folder / "val.parquet")
