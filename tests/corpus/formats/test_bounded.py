"""Memory does not grow with the file: each is read by a process of its own, which is measured."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.contract.conftest import ROOT

DOCUMENTS, LENGTH = 32_768, 2_048  # 67 MB
PARTS = 16
MOST_BYTES = 32 << 20

# Peak memory after the libraries are there and a small file was read, and after the large one.
READER = """
import re, sys
from pathlib import Path
from andrea.corpus.formats import documents

def peak():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

small, large = map(Path, sys.argv[1:3])
list(documents.read(small, sys.argv[3]))
before = peak()
print(sum(map(len, documents.read(large, sys.argv[3]))), peak() - before)
"""


def texts(count: int) -> pa.StringArray:
    """Random letters, which neither pack well nor repeat."""
    letters = np.random.default_rng(1).integers(97, 123, count * LENGTH, dtype=np.uint8)
    ends = np.arange(count + 1, dtype=np.int32) * LENGTH
    return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(letters))


def parquet(path: Path, count: int) -> None:
    """One row group for the whole file."""
    part = texts(max(count // PARTS, 1))
    column = pa.chunked_array([part] * (count // len(part)))
    pq.write_table(pa.table({"text": column}), path, row_group_size=count, use_dictionary=False)


def chats(path: Path, count: int) -> None:
    part = texts(max(count // PARTS, 1))
    message = pa.StructArray.from_arrays(
        [pa.array(["user"] * len(part)), part], ["role", "content"]
    )
    lists = pa.ListArray.from_arrays(np.arange(len(part) + 1, dtype=np.int32), message)
    column = pa.chunked_array([lists] * (count // len(part)))
    pq.write_table(pa.table({"messages": column}), path, row_group_size=count, use_dictionary=False)


def arrow(path: Path, count: int) -> None:
    part = pa.record_batch({"text": texts(max(count // PARTS // 8, 1))})
    with pa.ipc.new_stream(str(path), part.schema) as writer:
        for _ in range(count // len(part)):
            writer.write_batch(part)


def lines(path: Path, count: int) -> None:
    with gzip.open(path, "wb", 1) as file:
        for _ in range(count):
            file.write(b'{"text": "' + b"0123 abc" * (LENGTH // 8) + b'"}\n')


def packed(path: Path, count: int) -> None:
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        for _ in range(count):
            file.write(b'{"text": "' + b"0123 abc" * (LENGTH // 8) + b'"}\n')


@pytest.mark.parametrize(
    ("write", "form"),
    [
        (lines, "jsonl"),
        (parquet, "parquet"),
        (arrow, "arrow"),
        pytest.param(packed, "jsonl", marks=pytest.mark.slow),
        pytest.param(chats, "chat", marks=pytest.mark.slow),
    ],
)
def test_memory_does_not_grow_with_the_file(
    tmp_path: Path, write: Callable[[Path, int], None], form: str
) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    write(small, 1)
    write(large, DOCUMENTS)
    command = [sys.executable, "-c", READER, str(small), str(large), form]
    read = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    characters, grown = map(int, read.stdout.split())
    marks = 2 * DOCUMENTS if form == "chat" else 0
    assert characters == DOCUMENTS * LENGTH + marks >= 2 * MOST_BYTES
    assert grown < MOST_BYTES
