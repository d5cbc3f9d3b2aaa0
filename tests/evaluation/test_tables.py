from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from andrea.common import tables
from andrea.evaluation import memorization
from andrea.evaluation import tables as evaluation
from andrea.evaluation.memorization import Memorization
from andrea.evaluation.run import Measured

HALF = 32
MEANS = {name: {"macro_mean": 2.0} for name in ("warmup", "firehose", "polish")}
RECITED = {
    "extracted_train": 0.031, "extracted_control": 0.002, "low": -0.01, "worst_source": "oasst",
    "worst_difference": 0.125, "worst_low": -0.02, "worst_high": 0.2,
}  # fmt: skip
TOKENS = np.array([256, 1, 2, 3, 4, 256, 5, 256, 6, 7, 8], np.uint16)


def test_prompts_are_beginnings_of_documents() -> None:
    found = evaluation.prompts(TOKENS, 3, 4)
    assert found.tolist() == [[256, 1, 2], [256, 256, 5], [256, 6, 7], [256, 6, 7]]


def measured(bits: dict[str, float], recited: dict[str, Memorization]) -> Measured:
    return Measured("", bits, recited, np.zeros((0, 0), np.int64))


def test_the_table_has_a_row_per_source_and_a_column_per_model() -> None:
    baselines = {"xz": {"bits_per_byte": {"a": 1.5, "ood": 2.5}}}
    rows = evaluation.bits_per_byte(
        {"warmup": measured({"a": 2.00004, "ood": 1 / 3}, {})}, baselines
    )
    assert rows == [
        {"source": "a", "warmup": 2.0, "xz": 1.5},
        {"source": "ood", "warmup": 0.3333, "xz": 2.5},
    ]


def test_memorization_has_empty_fields_for_what_is_not_known(tmp_path: Path) -> None:
    control = np.array([HALF, 0, 0])
    recited = {
        "a": memorization.compare(np.zeros(0, np.int64), control, HALF, "not read"),
        "b": memorization.compare(control, control, HALF),
    }
    rows = evaluation.memorization(
        {"polish": measured({}, recited)}, {"polish": {"epochs": {"a": 0.0, "b": 1 / 3}}}
    )
    assert [(row["regime"], row["source"], row["epochs"]) for row in rows] == [
        ("polish", "a", 0.0), ("polish", "b", 0.3333)
    ]  # fmt: skip
    tables.write(tmp_path / "table.csv", rows)
    header, first, second = (tmp_path / "table.csv").read_text().splitlines()
    assert header.startswith("regime,source,epochs,prompts_train,prompts_control,extracted_train,")
    assert first == "polish,a,0.0,0,3,,0.3333,,,,,10.6667,not read"
    assert second.startswith("polish,b,0.3333,3,3,0.3333,0.3333,0.0,")


@pytest.mark.parametrize(
    "recited",
    [{}, RECITED, RECITED | {"low": 0.0}],
    ids=["nothing", "zero inside", "zero at the end"],
)
def test_the_summary_is_silent_where_no_more_is_recited_than_of_unread_text(
    recited: dict[str, object],
) -> None:
    line = evaluation.summary_line(MEANS | {"memorization": {"polish": recited}}, {})
    assert line == (
        "macro mean of held-out bits per byte: warmup 2.000, firehose 2.000, polish 2.000"
    )


@pytest.mark.parametrize("above", ["low", "worst_low"])
def test_the_summary_tells_what_was_recited(above: str) -> None:
    recited = RECITED | {above: 0.01}
    line = evaluation.summary_line(MEANS | {"memorization": {"polish": recited}}, {})
    assert "; recited from memory: 3.1% of passages read and 0.2% of passages never seen" in line
    assert "most from oasst: 12.5% more" in line
    assert "\n" not in line
