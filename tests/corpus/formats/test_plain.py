from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.errors import UserError
from andrea.corpus.formats import plain

WORDS = st.text("ab.> <\n\t é", max_size=40)
BLOCKS = st.lists(st.tuples(WORDS, st.integers(1, 600)).map(lambda pair: pair[0] * pair[1]))


def inked(text: str) -> str:
    return "".join(text.split())


@given(BLOCKS)
def test_pieces_lose_nothing_but_white_space_and_are_never_long(blocks: list[str]) -> None:
    pieces = list(plain.pieces(blocks))
    assert inked("".join(pieces)) == inked("".join(blocks))
    assert all(piece.strip() for piece in pieces)
    marks = [piece.count("\n") + 1 for piece in pieces]
    assert all(
        len(piece) <= plain.LONGEST + lines for piece, lines in zip(pieces, marks, strict=True)
    )


@given(BLOCKS, st.integers(1, 1000))
def test_pieces_do_not_depend_on_how_the_text_comes(blocks: list[str], size: int) -> None:
    whole = "".join(blocks)
    parts = [whole[at : at + size] for at in range(0, len(whole), size)]
    assert list(plain.pieces(parts)) == list(plain.pieces(blocks))


@given(BLOCKS)
def test_no_piece_has_a_line_that_begins_like_a_turn(blocks: list[str]) -> None:
    for piece in plain.pieces(blocks):
        assert not any(line.startswith(("> ", "< ")) for line in piece.split("\n"))


def test_the_best_border_in_the_second_half_is_taken() -> None:
    text = "x" * 4500 + "\n\n" + "y y\ny. y " * 800
    assert next(plain.pieces([text])) == "x" * 4500
    text = "x" * 3000 + "\n\n" + "x" * 2000 + "\n" + "y y. " * 1000
    assert next(plain.pieces([text])) == "x" * 3000 + "\n\n" + "x" * 2000


@given(st.text(), st.integers(0, 70_000))
def test_utf8_is_read_across_blocks(tmp_path_factory: pytest.TempPathFactory, text: str, fill: int):
    text = "é" * fill + text.replace("\0", "").replace("\ufeff", "")
    file = tmp_path_factory.mktemp("plain") / "text.txt"
    file.write_bytes(text.encode())
    expected = text.replace("\r\n", "\n").replace("\r", "\n")
    assert "".join(plain.utf8(file)) == expected
    assert "".join(plain.utf8_lines(file)) == expected


def test_a_byte_order_mark_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "marked.txt"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    assert list(plain.utf8_lines(file)) == ["one\n", "two"]


@pytest.mark.parametrize("before", [0, 3, 65_535, 65_536, 200_001])
@pytest.mark.parametrize("bad", [b"\xff", b"\xe9t", b"\xc3"])
def test_the_first_byte_that_is_not_utf8_is_named(tmp_path: Path, before: int, bad: bytes) -> None:
    file = tmp_path / "latin.txt"
    file.write_bytes(b"a" * before + bad)
    message = f"latin.txt, byte {before}: 0x{bad[0]:02x} is not UTF-8"
    with pytest.raises(UserError, match=message):
        list(plain.utf8(file))


def test_a_nul_is_a_character_as_in_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "binary.txt"
    file.write_bytes(b"ab\0c")
    assert "".join(plain.utf8(file)) == "ab\0c"


def test_a_named_pipe_is_refused_and_never_opened(tmp_path: Path) -> None:
    """Opening it would wait for a writer for ever."""
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    with pytest.raises(UserError, match=r"pipe\.txt: is a named pipe, a socket or a device"):
        list(plain.files(pipe, [".txt"]))
    with pytest.raises(UserError, match=r"pipe\.txt: is a named pipe, a socket or a device"):
        next(plain.blocks(pipe))
    with pytest.raises(UserError, match="holds no file that ends"):
        list(plain.files(tmp_path, [".txt"]))


def test_a_packed_file_that_is_cut_is_an_error_of_the_user(tmp_path: Path) -> None:
    file = tmp_path / "cut.txt.gz"
    file.write_bytes(gzip.compress(bytes(range(1, 128)) * 90)[:-12])
    with pytest.raises(UserError, match=r"cut\.txt\.gz"):
        list(plain.utf8(file))


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_text("a\n" + "b" * (plain.LINE_BYTES + 70_000))
    with pytest.raises(UserError, match=r"long\.csv, line 2: more than"):
        list(plain.utf8_lines(file))


def test_files_are_sorted_and_hidden_ones_and_links_passed_over(tmp_path: Path) -> None:
    root = tmp_path / "texts"
    for name in ("b.txt", "a.TXT.gz", "sub/c.txt", ".git/x.txt", ".y.txt", "z.pdf", "d.txt/e.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    (tmp_path / "secret.txt").write_text("outside")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "folder").symlink_to(tmp_path)
    found = [str(file.relative_to(root)) for file in plain.files(root, (".txt",))]
    assert found == ["a.TXT.gz", "b.txt", "d.txt/e.txt", "sub/c.txt"]


def test_a_folder_without_such_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no file that ends in \.txt, \.md"):
        list(plain.files(tmp_path, (".txt", ".md")))
    with pytest.raises(UserError, match="no such file or folder"):
        list(plain.files(tmp_path / "absent", (".txt",)))
    assert plain.first(tmp_path, (".txt",)) is None
