"""Numbers, tables and the exact file of a made-up geometry."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from andrea.common.errors import UserError
from andrea.common.files import read_json
from andrea.common.tables import read as read_table
from andrea.geometry.measure import files as geometry_files
from andrea.geometry.measure.metrics import metrics, summary
from andrea.geometry.measure.result import Geometry
from andrea.geometry.measure.tables import tables
from tests.geometry.geometries import example, without_extras


def settled(found: Geometry) -> Geometry:
    return geometry_files.rounded(found)


@pytest.fixture(scope="module")
def found() -> Geometry:
    return settled(example())


def leaves(tree: Any) -> list[Any]:
    return (
        [leaf for one in tree.values() for leaf in leaves(one)]
        if isinstance(tree, dict)
        else [tree]
    )


@pytest.mark.parametrize("make", [example, lambda: without_extras(example())])
def test_the_file_gives_back_the_whole_geometry(make: Any) -> None:
    text = geometry_files.to_text(settled(make()))
    assert geometry_files.to_text(geometry_files.from_text(text, "x")) == text
    assert text.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Expecting value"),
        ("[]", r"geometry: \[\] is not a section"),
        ('{"facts": 1}', "geometry.facts: 1 is not a section"),
        ("[" * 100_000, ""),
    ],
)
def test_another_file_is_refused_in_one_line(text: str, told: str) -> None:
    with pytest.raises(UserError, match=f"^x: not a geometry of this code .*{told}") as error:
        geometry_files.from_text(text, "x")
    assert "\n" not in str(error.value)


def test_metrics_are_finite_numbers_or_text(found: Geometry) -> None:
    for one in (found, settled(without_extras(example()))):
        for leaf in leaves(metrics(one)):
            assert isinstance(leaf, str) or math.isfinite(leaf)


def test_metrics_are_those_of_the_last_checkpoint(found: Geometry) -> None:
    numbers = metrics(found)
    assert numbers["vectors"]["effective_rank"] == found.vectors.spectra[-1].effective_rank
    assert numbers["vectors"]["cka"]["firehose_polish"] == found.vectors.similarity.cka[2, 3]
    assert numbers["vectors"]["moved"]["warmup_apart"] == found.vectors.drift[0].apart
    last = next(b for b in found.terrain.basins if (b.checkpoint, b.batch) == ("polish", "all"))
    assert numbers["terrain"]["all"]["polish"]["radius_0.1_nats"] == last.radii.quartiles[1, 0]


def test_a_verdict_needs_a_control(found: Geometry) -> None:
    """Without one the numbers hold none, the table says so, and so does the summary."""
    judged = metrics(found)["terrain"]["all_against_control_0.1_nats"]
    assert judged["answer"] in ("wider", "narrower", "undecided")
    alone = settled(example(control=False))
    assert alone.terrain.control == ""
    assert not [key for key in metrics(alone)["terrain"] if "against" in key]
    assert metrics(alone)["terrain"]["control"] == "none"
    assert set(tables(alone)["judgements"]["answer"]) == {"no control"}
    assert any("no control, so nothing can be said" in line for line in summary(alone))
    assert any("against the control polish is" in line for line in summary(found))


def test_tables_have_a_row_for_each_thing(found: Geometry) -> None:
    made = tables(found)
    facts = found.facts
    assert len(made["table"]) == len(facts.checkpoints)
    assert len(made["heads"]) == facts.layers * facts.heads
    assert len(made["words"]) == len(found.vectors.words.words)
    assert len(made["walk"]) == len(found.walk.path.steps)
    assert len(made["timeline"]) == len(found.walk.timeline.edges) - 1
    assert len(made["shares"]) == (len(found.walk.regimes) + 1) * len(facts.sources)
    assert len(made["basins"]) == len(found.terrain.basins)
    assert made["steepness"]["source"].tolist() == [row.source for row in found.terrain.steepness]
    heads = len(made["heads"])
    assert len(made["subspaces"]) == 3 * heads * (heads - 1) // 2
    one = made["subspaces"].iloc[0]
    assert one["squared_cosine"] == found.heads.subspaces.squared_cosine[0, 0, 1]
    assert (one["head"], one["other"]) == ("1.1", "1.2")


def test_a_slice_is_the_middle_of_its_directions(found: Geometry) -> None:
    basin = next(basin for basin in found.terrain.basins if basin.slices is not None)
    assert basin.slices is not None
    rows = tables(found)["slices"]
    assert rows[basin.checkpoint].tolist() == np.median(basin.slices.nats, axis=0).tolist()
    assert rows["distance"].tolist() == basin.slices.distances.tolist()


def test_the_folder(found: Geometry, tmp_path: Path) -> None:
    geometry_files.write(tmp_path, found)
    assert read_json(tmp_path / "metrics.json") == json.loads(json.dumps(metrics(found)))
    made = tables(found)
    assert {file.stem for file in tmp_path.glob("*.csv")} == set(made)
    for name, frame in made.items():
        read = read_table(tmp_path / f"{name}.csv")
        assert list(read) == list(frame)
        for column in frame:
            if pd.api.types.is_float_dtype(frame[column]):
                np.testing.assert_allclose(read[column], frame[column], rtol=1e-5)
            else:
                text = frame[column].map(lambda value: "" if value is None else str(value))
                assert read[column].fillna("").map(str).tolist() == text.tolist()
