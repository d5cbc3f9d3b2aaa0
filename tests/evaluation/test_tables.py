from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from andrea.evaluation import tables as evaluation

MEANS = {name: {"macro_mean": 2.0} for name in ("warmup", "firehose", "polish")}
RECITED = {
    "extracted_train": 0.031, "extracted_control": 0.002, "low": -0.01, "worst_source": "oasst",
    "worst_difference": 0.125, "worst_low": -0.02, "worst_high": 0.2,
}  # fmt: skip
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


def test_memorization_has_empty_fields_for_what_is_not_known(tmp_path: Path) -> None:
    rows = [
        {"regime": "warmup", "source": "a", "prompts": 0, "extracted": None, "note": "not read"},
        {"regime": "polish", "source": "a", "prompts": 3, "extracted": 1 / 3, "note": ""},
    ]
    evaluation.write_memorization(tmp_path / "table.csv", rows)
    assert (tmp_path / "table.csv").read_text() == (
        "regime,source,prompts,extracted,note\nwarmup,a,0,,not read\npolish,a,3,0.3333,\n"
    )


@pytest.mark.parametrize(
    "found",
    [{}, RECITED, RECITED | {"low": 0.0}],
    ids=["nothing", "zero inside", "zero at the end"],
)
def test_the_summary_is_silent_where_no_more_is_recited_than_of_unread_text(
    found: dict[str, object],
) -> None:
    line = evaluation.summary_line(MEANS | {"memorization": {"polish": found}}, {})
    assert line == (
        "macro mean of held-out bits per byte: warmup 2.000, firehose 2.000, polish 2.000"
    )


@pytest.mark.parametrize("above", ["low", "worst_low"])
def test_the_summary_tells_what_was_recited(above: str) -> None:
    found = RECITED | {above: 0.01}
    line = evaluation.summary_line(MEANS | {"memorization": {"polish": found}}, {})
    assert "; recited from memory: 3.1% of passages read and 0.2% of passages never seen" in line
    assert "most from oasst: 12.5% more" in line
    assert "\n" not in line
