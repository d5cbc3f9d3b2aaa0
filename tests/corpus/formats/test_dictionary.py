from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.errors import UserError
from andrea.corpus.formats import dictionary
from tests.corpus import conversations


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8", newline="")
    return file


def read(folder: Path, name: str, text: str) -> list[str]:
    return list(dictionary.FORMAT.read(write(folder, name, text)))


HARE = "> define hare\n< hare is a noun: swift mammal. For example: a hare ran."
MEANWHILE = (
    "> define meanwhile\n< meanwhile is an adverb: at the same time. It can also mean: in between."
)
RUN = "> define run\n< run is a verb: move fast! It can also be a noun: a score."
TABLE = [
    ("hare", "n.", "swift mammal", "a hare ran"),
    ("meanwhile", "adv", "at the same time", ""),
    ("meanwhile", "adv", "in between.", ""),
    ("run", "v", "move fast!", ""),
    ("run", "noun", "a score", ""),
]


@pytest.mark.parametrize("mark", [",", "\t", ";"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "header", ["word wordtype definition example", "Term POS Meaning Examples"]
)
def test_a_table_with_names(tmp_path: Path, mark: str, end: str, header: str) -> None:
    rows = [header.split(), *TABLE]
    text = "\ufeff" + "".join(mark.join(row) + end for row in rows)
    file = write(tmp_path, "words.csv", text)
    assert list(dictionary.FORMAT.read(file)) == [HARE, MEANWHILE, RUN]
    assert dictionary.FORMAT.looks_like(file)
    assert dictionary.FORMAT.looks_like(tmp_path)


def test_two_columns_need_no_names(tmp_path: Path) -> None:
    text = 'eel,"a long, thin ""fish"""\n\neel,a bend\nowl,night bird\n'
    assert read(tmp_path, "words.csv", text) == [
        '> define eel\n< eel is defined as: a long, thin "fish". It can also mean: a bend.',
        "> define owl\n< owl is defined as: night bird.",
    ]


RECORDS = [
    {"word": "hare", "pos": "n", "definition": "swift mammal", "example": "a hare ran"},
    {"word": "meanwhile", "pos": "adv", "definitions": ["at the same time", "in between."]},
    {
        "word": "run",
        "meanings": [
            {"part of speech": "verb", "definitions": ["move fast!"]},
            {"part-of-speech": "noun", "gloss": "a score"},
        ],
    },
    {"word": "unknown", "definition": None},
    {"word": "empty", "definition": " "},
]


def test_records_in_lines_or_in_a_list(tmp_path: Path) -> None:
    lines = "\n\n".join(json.dumps(record) for record in RECORDS)
    for name, text in (("a.jsonl", lines), ("b.json", json.dumps(RECORDS, indent=1))):
        file = write(tmp_path, name, text)
        assert list(dictionary.FORMAT.read(file)) == [HARE, MEANWHILE, RUN]
        assert dictionary.FORMAT.looks_like(file)


def test_an_object_of_words(tmp_path: Path) -> None:
    words = {
        "eel": "a fish",
        "meanwhile": [{"pos": "r", "definition": "at the same time"}, "in between"],
    }
    file = write(tmp_path, "words.json", json.dumps(words, indent=2))
    assert dictionary.FORMAT.looks_like(file)
    assert list(dictionary.FORMAT.read(file)) == [
        "> define eel\n< eel is defined as: a fish.",
        "> define meanwhile\n< meanwhile is an adverb: at the same time."
        " It can also mean: in between.",
    ]


def test_a_definition_may_begin_with_its_part_of_speech(tmp_path: Path) -> None:
    text = "run,v. t. to move\nrun,n. a score\nrun,a. first of a list\nn,n.\n"
    assert read(tmp_path, "words.csv", text) == [
        "> define run\n< run is a verb: to move. It can also be a noun: a score."
        " It can also mean: a. first of a list.",
        "> define n\n< n is defined as: n.",
    ]


def test_packed_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "words.tsv.gz").write_bytes(gzip.compress(b"eel\ta fish\n"))
    assert list(dictionary.FORMAT.read(tmp_path)) == ["> define eel\n< eel is defined as: a fish."]


@given(st.text(), st.text("abc \n<>'\"", min_size=1))
def test_a_document_is_one_question_and_one_answer(
    tmp_path_factory: pytest.TempPathFactory, word: str, definition: str
) -> None:
    file = tmp_path_factory.mktemp("dictionary") / "words.json"
    file.write_text(json.dumps([{"word": word, "definition": definition}]))
    for document in dictionary.FORMAT.read(file):
        sides = conversations.parse(document)
        assert [side.role for side in sides] == ["prompt", "reply"]
        assert definition.strip() in sides[1].text


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "one,two,three\n", r"a\.csv, line 1: columns 'one, two, three'; two columns, or"),
        ("a.csv", "word,definition\nx,y\na,b,c\n", r"a\.csv, line 3: 3 columns, line 1 has 2"),
        ("a.csv", 'word,definition\nx,"y\n', r"a\.csv, line 2: cannot be read as CSV"),
        ("a.jsonl", '{"word": "x", "definition": "y"}\n{', r"a\.jsonl, line 2: bad JSON"),
        ("a.jsonl", '{"text": "x"}', r"a\.jsonl, line 1: no word; a string named word, term"),
        ("a.jsonl", "[1]", r"a\.jsonl, line 1: '\[1\]' is no object"),
        ("a.json", '{"x": 3}', r"a\.json, entry 1: the definition of 'x' is int; a string"),
        ("a.json", '{"x": "y", "z": {"w": 1}}', r"a\.json, entry 2: the definition of 'z' is dict"),
        ("a.json", '{"x": "\\ud800"}', r"a\.json, entry 1: a lone surrogate"),
        (
            "a.json",
            '{"x": ' + "[" * 800 + '"y"' + "]" * 800 + "}",
            "entry 1: .* of 'x' is nested too",
        ),
        ("a.json", "nothing", r"a\.json: bad JSON"),
        ("a.json", '"x"', r"a\.json, entry 1: 'x' is no object"),
        (
            "a.jsonl",
            '{"word": "x", "n": ' + "1" * 6000 + "}",
            r"JSON \(a number of thousands of digits",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        read(tmp_path, name, text)
    assert "\n" not in str(caught.value)


def test_json_too_large_to_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dictionary, "WHOLE_CHARACTERS", 10)
    with pytest.raises(UserError, match="JSON of more than 10 characters"):
        read(tmp_path, "a.json", '{"eel": "a fish"}')


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "id,text\n1,x\n"),
        ("a.jsonl", '{"text": "the word definition"}\n'),
        ("a.json", '{"text": "x"}'),
        ("a.txt", "word,definition\n"),
    ],
)
def test_other_files_are_not_taken_for_dictionaries(tmp_path: Path, name: str, text: str) -> None:
    assert not dictionary.FORMAT.looks_like(write(tmp_path, name, text))


def test_a_field_may_be_longer_than_the_library_allows_by_itself(tmp_path: Path) -> None:
    told = "long " * 60_000
    [document] = read(tmp_path, "a.csv", f'word,definition\nx,"{told}"\n')
    assert told.strip() in document
