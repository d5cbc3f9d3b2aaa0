from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from andrea.common.errors import UserError
from andrea.corpus.formats import documents, opened, records
from andrea.corpus.formats.documents import recognise

ROWS: list[dict[str, Any]] = [
    {"text": "one", "other": 1},
    {"text": "", "other": None},
    {"text": "zwei\r\n\tZeilen \u0000 \U0001f469\u200d\U0001f52c \u2028", "other": 3},
    {"text": "x" * 1_000_000, "other": 4},
]
TEXTS = [row["text"] for row in ROWS]
CHAT = [
    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]},
    {"messages": []},
]


def lines(rows: list[Any], path: Path) -> None:
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))


def parquet(rows: list[Any], path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2)


def arrow_file(rows: list[Any], path: Path) -> None:
    table = pa.Table.from_pylist(rows)
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


def arrow_stream(rows: list[Any], path: Path) -> None:
    table = pa.Table.from_pylist(rows)
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


Writer = Callable[[list[Any], Path], None]
WRITERS = {"jsonl": lines, "parquet": parquet, "arrow-file": arrow_file, "arrow": arrow_stream}
every_container = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


def as_it_is(data: bytes) -> bytes:
    return data


def zstd(data: bytes) -> bytes:
    packed: bytes = pa.compress(data, codec="zstd", asbytes=True)
    return packed


PACKERS = {"plain": as_it_is, "gzip": gzip.compress, "zstd": zstd}


def reason(path: Path, *given: str) -> str:
    """What reading a path says is wrong, which is one line."""
    with pytest.raises(UserError) as caught:
        list(documents.read(path, *given))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@every_container
def test_documents_come_in_order_and_unchanged(tmp_path: Path, write: Writer) -> None:
    path = tmp_path / "a.of-no-known-ending"
    write(ROWS, path)
    assert list(documents.read(path)) == TEXTS
    assert list(documents.read(path, recognise(path))) == TEXTS


@every_container
def test_chats_are_read_from_every_container(tmp_path: Path, write: Writer) -> None:
    path = tmp_path / "a"
    write(CHAT, path)
    assert recognise(path) == "chat"
    assert list(documents.read(path)) == ["> Hi\n< Ho", ""]


@every_container
def test_the_text_may_be_in_another_field(tmp_path: Path, write: Writer) -> None:
    path = tmp_path / "a"
    write([{"body": "one", "text": 1}], path)
    assert list(documents.read(path, field="body")) == ["one"]
    assert "int" in reason(path, recognise(path, "body"))
    assert "no " in reason(path, recognise(path, "body"), "nowhere")
    assert "nowhere" in reason(path, recognise(path, "body"), "nowhere")


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
@pytest.mark.parametrize("write", [lines, arrow_stream])
@pytest.mark.parametrize("name", ["a.jsonl", "a"])
def test_packed_files_are_known_by_their_bytes(
    tmp_path: Path, pack: Callable[[bytes], bytes], write: Writer, name: str
) -> None:
    path = tmp_path / name
    write(ROWS, path)
    path.write_bytes(pack(path.read_bytes()))
    assert list(documents.read(path)) == TEXTS


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_packed_parts_one_after_the_other_are_one_file(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a"
    path.write_bytes(pack(b'{"text": "on') + pack(b'e"}\n{"text": "two"}'))
    assert list(documents.read(path)) == ["one", "two"]


@pytest.mark.parametrize("write", [parquet, arrow_file])
def test_what_needs_the_end_of_a_file_is_not_read_packed(tmp_path: Path, write: Writer) -> None:
    path = tmp_path / "a"
    write(ROWS, path)
    path.write_bytes(zstd(path.read_bytes()))
    assert "inside zstd cannot be read in parts; decompress it" in reason(path)


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_a_cut_file_is_an_error_wherever_it_is_cut(
    tmp_path: Path, write: Writer, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a"
    write([{"text": f"{number} text"} for number in range(40)], path)
    whole = pack(path.read_bytes())
    form = recognise(path)
    for size in range(0, len(whole) - 3, len(whole) // 30):
        path.write_bytes(whole[:size])
        try:
            read = list(documents.read(path, form))
        except UserError as error:
            assert "\n" not in str(error)
            assert str(path) in str(error)
        else:
            assert pack is as_it_is and write in (lines, arrow_stream), size
            assert read == [f"{number} text" for number in range(len(read))]


@pytest.mark.parametrize("start", [b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff", b"\x1f\x8b", b"{"])
@given(rest=st.binary(max_size=60))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rubbish_is_told_in_a_line(tmp_path: Path, start: bytes, rest: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(start + rest)
    assert str(path) in reason(path)


def test_a_flipped_byte_in_a_batch_is_told_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "a"
    parquet([{"text": f"{number} é"} for number in range(8)], path)
    whole = path.read_bytes()
    for at in range(4, len(whole) - 8, 17):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            for text in documents.read(path, "parquet"):
                text.encode()
        except UserError as error:
            assert "\n" not in str(error)


def test_a_byte_order_mark_and_carriage_returns_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b'\xef\xbb\xbf{"text": "one"}\r\n{"text": "two\\r\\n"}\r\n')
    assert list(documents.read(path)) == ["one", "two\r\n"]
    path.write_bytes(b'{"text": "one"}\n\xef\xbb\xbf{"text": "two"}\n')
    assert "line 2: bad JSON" in reason(path)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"text": None}, "NoneType"),
        ({"text": 3}, "is int"),
        ({"text": ["a"]}, "is list"),
        ({"text": {"a": 1}}, "is dict"),
        ({"body\nof": "x"}, "'body\\nof'"),
    ],
)
@every_container
def test_a_row_without_text_is_named(
    tmp_path: Path, write: Writer, row: dict[str, Any], expected: str
) -> None:
    path = tmp_path / "a"
    write([row], path)
    told = reason(path, {lines: "jsonl", parquet: "parquet"}.get(write, "arrow"))
    assert expected in told and str(path) in told


def test_binary_text_is_no_string(tmp_path: Path) -> None:
    parquet([{"text": b"\xff"}], tmp_path / "a")
    assert 'row 1: the field "text" is bytes' in reason(tmp_path / "a", "parquet")


def test_strings_that_are_no_unicode_are_named(tmp_path: Path) -> None:
    column = pa.StringArray.from_buffers(
        1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")
    )
    pq.write_table(pa.table({"text": column}), tmp_path / "a")
    assert "a, row 1: cannot be read as Parquet ('utf-8'" in reason(tmp_path / "a", "parquet")


def test_a_surrogate_in_a_chat_is_named(tmp_path: Path) -> None:
    lines([{"messages": [{"role": "user", "content": "a\ud800"}]}], tmp_path / "a")
    assert "line 1: a lone surrogate at character 3" in reason(tmp_path / "a")


def test_other_kinds_of_string_are_text_too(tmp_path: Path) -> None:
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        table = pa.table({"text": pa.array(["a", "b", "a"]).cast(kind)})
        with pa.ipc.new_stream(str(tmp_path / "a"), table.schema) as writer:
            writer.write_table(table)
        assert list(documents.read(tmp_path / "a")) == ["a", "b", "a"]


@pytest.mark.parametrize("write", [parquet, arrow_file, arrow_stream])
def test_a_table_without_rows_is_refused(tmp_path: Path, write: Writer) -> None:
    table = pa.table({"text": pa.array([], pa.string())})
    path = tmp_path / "a"
    write([{"text": "x"}], path)
    form = recognise(path)
    if write is parquet:
        pq.write_table(table, path)
    else:
        new = pa.ipc.new_file if write is arrow_file else pa.ipc.new_stream
        with new(str(path), table.schema):
            pass
    assert "holds no document" in reason(path)
    assert "holds no document" in reason(path, form)


def test_a_format_that_is_not_the_files_is_named(tmp_path: Path) -> None:
    lines(ROWS, tmp_path / "a")
    assert "the format is JSON Lines, not Parquet" in reason(tmp_path / "a", "parquet")
    parquet(ROWS, tmp_path / "a")
    assert "the format is Parquet, not JSON Lines" in reason(tmp_path / "a", "jsonl")
    told = reason(tmp_path / "a", "csv")
    assert "format 'csv': not known, allowed are jsonl, parquet, arrow, chat" in told


def test_only_wanted_columns_are_given(tmp_path: Path) -> None:
    for write in (parquet, arrow_stream, arrow_file):
        write(ROWS, tmp_path / "a")
        places, found = zip(*records.read(tmp_path / "a", ("text", "none")), strict=True)
        assert [*found] == [{"text": text} for text in TEXTS]
        assert places == ("row 1", "row 2", "row 3", "row 4")


def test_a_name_that_promises_a_compression_is_held_to_it(tmp_path: Path) -> None:
    (tmp_path / "a.zst").write_bytes(b'{"text": "one"}\n')
    assert opened.compression(tmp_path / "a.zst") == "zstd"
    assert "a.zst: cannot be read as zstd" in reason(tmp_path / "a.zst")
