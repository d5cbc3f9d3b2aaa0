from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from andrea.report import evaluation

STREAM = np.array([256, 1, 2, 3, 4, 256, 5, 256, 6, 7, 8], np.uint16)


def test_prompts_are_beginnings_of_documents() -> None:
    found = evaluation.prompts(STREAM, 3, 4)
    assert found.tolist() == [[256, 1, 2], [256, 256, 5], [256, 6, 7], [256, 6, 7]]


def test_the_table_has_a_row_per_source_and_a_column_per_model(tmp_path: Path) -> None:
    bits = {"warmup": {"a": 2.0, "ood": 3.0}}
    baselines = {"xz": {"bits_per_byte": {"a": 1.5, "ood": 2.5}}}
    evaluation.write_table(tmp_path / "table.csv", bits, baselines, ["a", "ood"])
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["source", "warmup", "xz"],
        ["a", "2.0000", "1.5000"],
        ["ood", "3.0000", "2.5000"],
    ]
