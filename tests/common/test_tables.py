"""Tables as CSV and back."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common import tables

FLOATS = st.floats(allow_infinity=False)
WORDS = st.text(st.characters(codec="utf-8"), max_size=6)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"step": st.integers(0, 2**53), "loss": FLOATS, "text": WORDS, "loss.irc": st.none()}
    ),
    min_size=1,
    max_size=5,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables") / "table.csv"


@given(rows=ROWS, quote=st.booleans())
def test_what_was_written_is_read(path: Path, rows: list[dict[str, Any]], quote: bool) -> None:
    """Every digit of a float, and every character of a text, in the order of the rows."""
    tables.write(path, rows, quote=quote)
    back, words = tables.read(path), tables.read(path, text=True)
    assert list(back) == list(words) == list(rows[0])
    assert back["step"].tolist() == [row["step"] for row in rows]
    np.testing.assert_array_equal(back["loss"], [row["loss"] for row in rows])
    assert words["text"].tolist() == [row["text"] for row in rows]
    assert back["loss.irc"].isna().all()
    assert set(words["loss.irc"]) == {""}


@given(rows=ROWS, quote=st.booleans())
def test_equal_tables_give_equal_bytes(path: Path, rows: list[dict[str, Any]], quote: bool) -> None:
    """As rows or as a frame."""
    tables.write(path, rows, quote=quote)
    first = path.read_bytes()
    tables.write(path, pd.DataFrame(rows), quote=quote)
    assert path.read_bytes() == first


@given(rows=ROWS)
def test_a_table_that_was_read_is_written_to_the_same_bytes(
    path: Path, rows: list[dict[str, Any]]
) -> None:
    """Words apart, which might look like numbers."""
    tables.write(path, [{**row, "text": f"w{row['text']}"} for row in rows])
    first = path.read_bytes()
    tables.write(path, tables.read(path))
    assert path.read_bytes() == first


@given(rows=ROWS)
def test_rows_of_numbers_leave_out_what_is_not_there(
    path: Path, rows: list[dict[str, Any]]
) -> None:
    for row in rows:
        row.pop("text")
    tables.write(path, rows)
    known = [
        {name: x for name, x in row.items() if x is not None and not math.isnan(x)} for row in rows
    ]
    assert tables.numbers(path) == known


def test_bytes_of_a_table(path: Path) -> None:
    """Lines end in a line feed; what is not finite is empty; floats are as Python writes them."""
    tables.write(
        path,
        [
            {"step": 1, "x": 0.1 + 0.2, "y": math.inf, "word": "a,b"},
            {"step": 2, "x": 1e-05, "y": None, "word": 'say "a"'},
            {"step": 3, "x": np.float32(0.1), "y": -math.inf, "word": ""},
        ],
    )
    assert path.read_bytes() == (
        b'step,x,y,word\n1,0.30000000000000004,,"a,b"\n2,1e-05,,"say ""a"""\n3,0.1,,\n'
    )


def test_columns_can_be_named(path: Path) -> None:
    """In an order; also where there is no row, and where a row has more or fewer."""
    tables.write(path, [{"b": 1, "a": 2, "c": 3}, {"a": 4}], ["a", "b"])
    assert path.read_bytes() == b"a,b\n2,1\n4,\n"
    tables.write(path, [], ["a", "b"])
    assert path.read_bytes() == b"a,b\n"
    assert list(tables.read(path)) == ["a", "b"]
    assert tables.read(path).empty


def test_only_an_empty_field_is_no_number(path: Path) -> None:
    """`NA` is a word as others are."""
    path.write_text("a,b\nNA,1\nnull,\n", encoding="utf-8")
    back = tables.read(path)
    assert back["a"].tolist() == ["NA", "null"]
    assert back["b"].isna().tolist() == [False, True]


def test_text_stays_text(path: Path) -> None:
    """Though all of a column looks like numbers."""
    path.write_text("kind,text\ngap,007\ngap,1e3\n", encoding="utf-8")
    assert tables.read(path, text=True)["text"].tolist() == ["007", "1e3"]


def test_quotes_stand_around_all_text(path: Path) -> None:
    tables.write(path, [{"n": 1, "word": "a", "x": 0.5}], quote=True)
    assert path.read_bytes() == b'"n","word","x"\n1,"a",0.5\n'


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2,3\n1\n1,2,3,4\n", b'a\n"1\n', b"a\n\xff\n"])
def test_what_is_no_table_is_a_value_error(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"."):
        tables.numbers(path)


def test_a_table_that_is_not_there(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tables.read(path.with_name("absent.csv"))


def test_naming_the_module_starts_no_pandas() -> None:
    """Commands that read a table only now and then answer at once."""
    code = "import sys, andrea.common.tables; sys.exit('pandas' in sys.modules)"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
