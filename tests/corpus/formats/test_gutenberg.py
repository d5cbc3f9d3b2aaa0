from __future__ import annotations

from pathlib import Path

import pytest

from andrea.common.errors import UserError
from andrea.corpus.formats import gutenberg

PROSE = (
    "It was a bright cold day in spring, and the clocks of the town were\n"
    "striking, as they always did, a little before the hour that they ought\n"
    "to have struck."
)
JOINED = PROSE.replace("\n", " ")
VERSE = (
    "Of all the rivers that the valleys keep and never let again be free,\n"
    "The slowest and the widest goes to sleep beside the stone and hears the sea,\n"
    "And dreams of rain."
)
MODERN = """\ufeffThe Project Gutenberg eBook of A Town

This ebook is for the use of anyone anywhere.

Title: A Town

{header}*** START OF {which} PROJECT GUTENBERG {kind} A TOWN ***

{body}

*** END OF {which} PROJECT GUTENBERG {kind} A TOWN ***

Updated editions will replace the previous one.
"""
SMALL_PRINT = """Project Gutenberg Etext of A Town

***START**THE SMALL PRINT!**FOR PUBLIC DOMAIN ETEXTS**START***
Why is this "Small Print!" statement here?
*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*

{body}

{end}

More small print.
"""


def modern(body: str, header: str = "", which: str = "THE", kind: str = "EBOOK") -> str:
    return MODERN.format(body=body, header=header, which=which, kind=kind)


def read(folder: Path, text: str, encoding: str = "utf-8") -> list[str]:
    file = folder / "book.txt"
    file.write_bytes(text.encode(encoding))
    assert gutenberg.FORMAT.looks_like(file)
    return list(gutenberg.FORMAT.read(file))


@pytest.mark.parametrize("which", ["THE", "THIS"])
@pytest.mark.parametrize("kind", ["EBOOK", "E-BOOK", "Etext"])
def test_header_and_licence_are_cut_off(tmp_path: Path, which: str, kind: str) -> None:
    assert read(tmp_path, modern(PROSE, which=which, kind=kind)) == [JOINED]


@pytest.mark.parametrize(
    "end",
    [
        "End of the Project Gutenberg EBook of A Town, by Nobody",
        "End of Project Gutenberg's A Town, by Nobody",
        "End of The Project Gutenberg Etext of A Town",
        "*** END OF THIS PROJECT GUTENBERG EBOOK A TOWN ***",
        "***START**THE SMALL PRINT!**FOR PUBLIC DOMAIN EBOOKS**START***",
    ],
)
def test_small_print_is_cut_off(tmp_path: Path, end: str) -> None:
    assert read(tmp_path, SMALL_PRINT.format(body=PROSE, end=end)) == [JOINED]


def test_a_header_may_have_both_marks(tmp_path: Path) -> None:
    inner = SMALL_PRINT.format(body=PROSE, end="End of the Project Gutenberg EBook of A Town")
    assert read(tmp_path, modern(inner)) == [JOINED]


def test_a_mark_may_go_on_over_lines(tmp_path: Path) -> None:
    text = modern(PROSE).replace("EBOOK A TOWN ***\n\nIt", "EBOOK A TOWN,\nOR THE CLOCKS ***\n\nIt")
    assert read(tmp_path, text) == [JOINED]


def test_an_unclosed_mark_is_one_line(tmp_path: Path) -> None:
    text = modern(PROSE).replace("EBOOK A TOWN ***\n\nIt", "EBOOK A TOWN\n\nIt")
    assert read(tmp_path, text) == [JOINED]


def test_without_an_end_the_text_goes_to_the_end(tmp_path: Path) -> None:
    assert read(tmp_path, modern(PROSE).split("*** END")[0]) == [JOINED]


@pytest.mark.parametrize(
    "credit",
    [
        "Produced by A. Reader and the Online Distributed\nProofreading Team",
        "E-text prepared by A. Reader",
        "This eBook was produced by A. Reader",
        "Transcribed from the 1901 edition by A. Reader",
        "Scanned and proofread by A. Reader",
        "[Transcriber's Note: Spelling kept.]",
        "HTML version by A. Reader",
        "Note: Project Gutenberg also has an HTML version of this file.",
    ],
)
def test_credits_at_the_start_are_left_out(tmp_path: Path, credit: str) -> None:
    assert read(tmp_path, modern(f"{credit}\n\n\nA TOWN\n\n{PROSE}")) == [f"A TOWN\n\n{JOINED}"]


def test_the_word_produced_in_the_story_stays(tmp_path: Path) -> None:
    body = "\n\n".join([PROSE] * 9 + ["Produced by the clocks, a sound rose."])
    assert read(tmp_path, modern(body))[0].endswith("Produced by the clocks, a sound rose.")


def test_verse_and_indented_text_keep_their_lines(tmp_path: Path) -> None:
    letter = "    Dear Sir,\n      Come.\n    Yours"
    assert read(tmp_path, modern(f"{VERSE}\n\n{letter}\n\n{PROSE}")) == [
        f"{VERSE}\n\n{letter}\n\n{JOINED}"
    ]


def test_a_long_book_is_cut_where_a_chapter_ends(tmp_path: Path) -> None:
    chapters = [f"CHAPTER {n}\n\n" + "\n\n".join([PROSE] * 33) for n in range(4)]
    documents = read(tmp_path, modern("\n\n\n\n\n".join(chapters)))
    assert documents == [chapter.replace(PROSE, JOINED) for chapter in chapters]


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("UTF-8", "utf-8"),
        ("ISO-8859-1", "latin-1"),
        ("ISO Latin-1", "latin-1"),
        ("ASCII", "cp1252"),
        ("ISO-8859-2", "iso8859-2"),
        ("Windows Code-Page 1252", "cp1252"),
        ("ISO-8859-1", "utf-8"),
        (None, "cp1252"),
        (None, "utf-8"),
    ],
)
def test_the_declared_encoding_is_obeyed(tmp_path: Path, declared: str | None, encoding: str):
    body = "Caf\xe9 \u2018q\u2019" if encoding in ("cp1252", "utf-8") else "Caf\xe9"
    header = f"Character set encoding: {declared}\n\n" if declared else ""
    text = modern(body, header).removeprefix("\ufeff")
    assert read(tmp_path, text, encoding) == [body]


def test_what_is_not_in_the_declared_encoding_is_named(tmp_path: Path) -> None:
    text = modern("Caf\xe9", "Character set encoding: UTF-8\n\n").removeprefix("\ufeff")
    with pytest.raises(UserError, match=r"book\.txt, line 11: 0xe9 is not utf-8"):
        read(tmp_path, text, "latin-1")


@pytest.mark.parametrize("name", ["Klingon-1", "hex", "UTF-16"])
def test_an_unknown_encoding_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=rf"book\.txt, line 7: .*'{name}' is unknown"):
        read(tmp_path, modern(PROSE, f"Character set encoding: {name}\n\n"))


def test_a_file_without_marks_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "plain.txt"
    file.write_text(PROSE)
    assert not gutenberg.FORMAT.looks_like(file)
    with pytest.raises(UserError, match=r"plain\.txt, lines 1 to 3: no mark .*`format: text`"):
        list(gutenberg.FORMAT.read(file))
