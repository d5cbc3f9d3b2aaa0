from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from andrea.common.errors import UserError
from andrea.corpus.formats import documents

GOOD = b'{"text": "one"}\n'


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_documents_come_in_order_and_unchanged(tmp_path: Path, name: str) -> None:
    texts = [
        "one",
        "",
        "zwei\n\tZeilen",
        "\u0000 \U0001f469\u200d\U0001f52c \u2028",
        "x" * 5_000_000,
    ]
    lines = "".join(json.dumps({"other": 1, "text": text}) + "\n" for text in texts).encode()
    (tmp_path / name).write_bytes(gzip.compress(lines, mtime=0) if name.endswith("gz") else lines)
    assert list(documents.read(tmp_path / name)) == texts


def test_the_last_line_needs_no_line_break(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(GOOD + GOOD.rstrip())
    assert list(documents.read(tmp_path / "a.jsonl")) == ["one", "one"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "bad JSON"),
        (b"", "an empty line"),
        (b" ", "an empty line"),
        (b'{"text": ' + b"1" * 6000 + b"}", r"bad JSON \(a number of thousands of digits"),
        (b"[" * 100_000, r"bad JSON \(nested too deep\)"),
        (b'{"text": "\xff"}', "invalid UTF-8 at byte 10"),
        (b'{"text": "\\ud800"}', "lone surrogate"),
        (b'{"body": "x"}', 'no field "text"'),
        (b'["text"]', 'no field "text"'),
        (b'{"text": 3}', "is int"),
        (b'{"text": null}', "is NoneType"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(GOOD + line + b"\n" + GOOD)
    with pytest.raises(UserError, match=reason) as caught:
        list(documents.read(path))
    assert f"{path}, line 2: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_documents_before_a_bad_line_have_been_given(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(GOOD + b"{\n")
    reader = documents.read(tmp_path / "a.jsonl")
    assert next(reader) == "one"
    with pytest.raises(UserError):
        next(reader)


def test_a_cut_gzip_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD * 1000, mtime=0)[:-9])
    with pytest.raises(UserError, match=r"a\.jsonl\.gz, line \d+: cannot be read as gzip"):
        list(documents.read(path))


def test_plain_text_named_gz_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(GOOD)
    with pytest.raises(UserError, match=r"a\.jsonl\.gz: cannot be read as gzip"):
        list(documents.read(path))


@pytest.mark.parametrize("content", [b"", gzip.compress(b"", mtime=0)], ids=["plain", "gzipped"])
def test_a_file_without_documents_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / ("a.gz" if content else "a.jsonl")
    path.write_bytes(content)
    with pytest.raises(UserError, match="holds no document"):
        list(documents.read(path))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"{tmp_path}/none: no such folder"):
        list(documents.read(tmp_path / "none" / "a.jsonl"))
    with pytest.raises(UserError, match=r"a\.jsonl: cannot be opened"):
        list(documents.read(tmp_path / "a.jsonl"))


def test_memory_stays_that_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress((b'{"text": "' + b"word " * 2000 + b'"}\n') * 2000, mtime=0))
    tracemalloc.start()
    assert sum(1 for _ in documents.read(path)) == 2000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
