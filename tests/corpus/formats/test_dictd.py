from __future__ import annotations

import base64
import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.errors import UserError
from andrea.corpus.formats import dictd, dictionary

ENTRIES = {
    "00-database-info": "made for a test",
    "eel": "eel\n   a long {fish}\n   of rivers\n",
    "owl": "owl /aul/\nnight bird",
    "stoat": "A weasel.",
    "vole": "VOLE, n.  A mouse\nof fields.",
}


def digits(number: int) -> str:
    """Base 64 without leading zeros, by the library's own alphabet."""
    whole = base64.b64encode(number.to_bytes(6, "big")).decode()
    return whole.lstrip("A") or "A"


def write(folder: Path, entries: dict[str, str], name: str = "words.dict.dz") -> Path:
    data, index = b"", []
    for word, text in entries.items():
        index.append(f"{word}\t{digits(len(data))}\t{digits(len(text.encode()))}\n")
        data += text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith("z") else data)
    file = folder / "words.index"
    file.write_text("".join(reversed(index)), encoding="utf-8")
    return file


@pytest.mark.parametrize("name", ["words.dict", "words.dict.dz", "words.dict.gz"])
def test_entries_come_without_headword_indent_and_marks(tmp_path: Path, name: str) -> None:
    file = write(tmp_path, ENTRIES, name)
    assert list(dictd.entries(file)) == [
        ("eel", "a long fish\nof rivers"),
        ("owl", "night bird"),
        ("stoat", "A weasel."),
        ("vole", "n.  A mouse\nof fields."),
    ]
    assert dictionary.FORMAT.looks_like(tmp_path)
    assert (
        list(dictionary.FORMAT.read(tmp_path))[1]
        == "> define owl\n< owl is defined as: night bird."
    )


@given(st.lists(st.text("abcé", max_size=30_000), min_size=1, max_size=12))
def test_every_definition_is_found(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    entries = {f"word{n}": text for n, text in enumerate(texts)}
    folder = tmp_path_factory.mktemp("dictd")
    assert dict(dictd.entries(write(folder, entries))) == entries


def test_words_may_share_a_definition_and_have_their_own_spelling(tmp_path: Path) -> None:
    (tmp_path / "words.dict").write_text("a small dark fish")
    file = tmp_path / "words.index"
    file.write_text("eel\tA\tR\tEel\neels\tA\tR\nfish\tN\tE\n")
    assert list(dictd.entries(file)) == [
        ("Eel", "a small dark fish"),
        ("eels", "a small dark fish"),
        ("fish", "fish"),
    ]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("eel\tA\n", r"words\.index, line 1: 'eel\\tA\\n'; headword, offset and length"),
        ("eel\tA\tB\nowl\tA!\tB\n", r"words\.index, line 2: "),
        ("eel\tA\tB\nowl\tA\t/\n", r"words\.index, line 2: 'owl' ends at byte 63 of words\.dict, "),
        ("eel\tA\t/////\n", r"words\.index, line 1: a definition of 1073741823 bytes"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, index: str, message: str) -> None:
    (tmp_path / "words.dict").write_text("short")
    file = tmp_path / "words.index"
    file.write_text(index)
    with pytest.raises(UserError, match=message):
        list(dictd.entries(file))


def test_an_index_alone_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "words.index"
    file.write_text("eel\tA\tB\n")
    with pytest.raises(UserError, match=r"no words\.dict or words\.dict\.dz beside it"):
        list(dictd.entries(file))
