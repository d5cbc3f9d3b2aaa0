from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest

from andrea.common.errors import UserError
from andrea.corpus.formats import folders


def test_every_file_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("\n  two\r\nlines \n\n", newline="")
    (tmp_path / "a.md").write_text("# One\n\n> quoted\n")
    (tmp_path / "c.rst.gz").write_bytes(gzip.compress(b"Three\n====="))
    (tmp_path / "empty.txt").write_text("\n \n")
    assert list(folders.FORMAT.read(tmp_path)) == [
        "# One\n\n > quoted",
        "  two\nlines",
        "Three\n=====",
    ]
    assert folders.FORMAT.looks_like(tmp_path)


def test_a_file_may_have_any_name(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("Text.")
    assert list(folders.FORMAT.read(file)) == ["Text."]
    assert not folders.FORMAT.looks_like(file)


@pytest.mark.parametrize("end", ["---", "..."])
def test_front_matter_of_markdown_is_cut_off(tmp_path: Path, end: str) -> None:
    file = tmp_path / "post.markdown"
    file.write_text(f"---\ntitle: A\ntags: [b]\n{end}\nBody\n\n---\n\nmore\n---\n")
    assert list(folders.FORMAT.read(file)) == ["Body\n\n---\n\nmore\n---"]
    text = file.rename(tmp_path / "post.txt")
    assert next(folders.FORMAT.read(text)).startswith("---\ntitle")


def test_a_rule_is_no_front_matter(tmp_path: Path) -> None:
    file = tmp_path / "rule.md"
    file.write_text("---\nText without end of front matter\n")
    assert next(folders.FORMAT.read(file)).startswith("---\nText")


def test_markdown_is_cut_at_headings(tmp_path: Path) -> None:
    file = tmp_path / "long.md"
    parts = [f"## Part {n}\n\n" + "Words and words. \n\n" * 250 for n in range(5)]
    file.write_text("".join(parts))
    documents = list(folders.FORMAT.read(file))
    assert documents == [part.rstrip() for part in parts]


def test_a_bad_file_in_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("good")
    (tmp_path / "old.txt").write_bytes("caf\xe9".encode("latin-1"))
    with pytest.raises(UserError, match=r"old\.txt, byte 3: 0xe9 is not UTF-8"):
        list(folders.FORMAT.read(tmp_path))


def test_memory_does_not_grow_with_a_file(tmp_path: Path) -> None:
    file = tmp_path / "large.txt"
    file.write_text("A line of text that goes on.\n" * 300_000)
    tracemalloc.start()
    count = sum(1 for _ in folders.FORMAT.read(file))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count > 1000
    assert peak < 2_000_000
