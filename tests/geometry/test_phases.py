from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from andrea.common import tables
from andrea.common.errors import UserError
from andrea.config import tree
from andrea.geometry.walk.measure.phases import Phases, join, read_phases, read_regions
from andrea.mixture.curriculum import Phase
from andrea.mixture.simplex import Region
from andrea.training import history
from andrea.training.records import FinishedPhase
from tests.geometry.walks import golden_region, make_phases

ROOT = Path(__file__).parents[2]
FIELDS = list(Phases.__dataclass_fields__)


def write(path: Path, phases: Phases) -> None:
    """As a regime writes its phases."""
    rows = []
    for n, kind in enumerate(phases.kinds):
        phase = Phase(
            kind, int(phases.start_step[n]), int(phases.steps[n]), tuple(phases.weights[n].tolist())
        )
        finished = FinishedPhase(
            phase,
            tuple(None if np.isnan(x) else float(x) for x in phases.scores[n]),
            tuple(phases.rewards[n].tolist()),
            tuple(None if np.isnan(x) else float(x) for x in phases.noise[n]),
            tuple(phases.sequences[n].tolist()),
        )
        rows.append(history.phase_row(finished, phases.sources))
    tables.write(path, rows, history.phase_columns(phases.sources))


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "phases.csv"
    write(path, make_phases(golden_region(), 0, 4, 0))
    return path


@pytest.mark.parametrize("count", [5, 0])
def test_what_a_regime_writes_is_read_back(tmp_path: Path, count: int) -> None:
    phases = make_phases(golden_region(), 40, count, 1)
    phases.scores[:1, 1] = np.nan
    write(tmp_path / "phases.csv", phases)
    found = read_phases(tmp_path / "phases.csv")
    for field in FIELDS:
        assert np.array_equal(
            np.asarray(getattr(found, field)),
            np.asarray(getattr(phases, field)),
            equal_nan=field in ("scores", "noise"),
        )
        assert np.shape(getattr(found, field)) == np.shape(getattr(phases, field))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("reward.source-1", "gain.source-1", "has no column reward.source-1"),
        ("weight.", "share.", "has no column weight.<source>"),
        ("\n0,", "\nx,", ":2: start_step is 'x', must be a number"),
        ("\n0,", "\n,", ":2: start_step is '', must be a number"),
    ],
)
def test_a_table_that_is_not_one_is_refused_in_one_line(
    written: Path, old: str, new: str, message: str
) -> None:
    written.write_text(written.read_text().replace(old, new))
    with pytest.raises(UserError, match=re.escape(message)) as refused:
        read_phases(written)
    assert str(written) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_empty_file_is_refused_in_one_line(written: Path) -> None:
    written.write_text("")
    with pytest.raises(UserError, match=f"^{written}: not a table \\(No columns"):
        read_phases(written)


def test_regimes_are_joined_and_one_without_a_step_is_left_out() -> None:
    region = golden_region()
    first = make_phases(region, 0, 3, 0)
    end = int(first.steps.sum())
    second = make_phases(region, end, 2, 1)
    nothing = make_phases(region, end, 0, 2)
    by_regime = {"warmup": first, "firehose": nothing, "polish": second}
    walk = join(by_regime, dict.fromkeys(by_regime, region))
    assert walk.names == ("warmup", "polish")
    assert walk.regime.tolist() == [0, 0, 0, 1, 1]
    assert walk.end_step == end + second.steps.sum()
    assert walk.phases.rewards.tolist() == first.rewards.tolist() + second.rewards.tolist()


def test_phases_of_other_parameters_are_refused() -> None:
    phases = make_phases(golden_region(), 0, 3, 0)
    with pytest.raises(UserError, match=r"weight .* of source-0 at step 0, but .* allow 0 to 0.3"):
        join({"polish": phases}, {"polish": Region(np.zeros(3), np.array([0.3, 1, 1]))})
    with pytest.raises(UserError, match="3 sources, the parameters have 2"):
        join({"polish": phases}, {"polish": Region(np.zeros(2), np.ones(2))})
    with pytest.raises(UserError, match="no step was trained"):
        join({"polish": make_phases(golden_region(), 0, 0, 0)}, {"polish": golden_region()})
    later = make_phases(golden_region(), 1000, 3, 0)
    both = {"warmup": phases, "polish": later}
    with pytest.raises(UserError, match="phases of polish: one starts at step 1000, but"):
        join(both, dict.fromkeys(both, golden_region()))
    both["polish"] = replace(later, sources=("a", "b", "c"))
    with pytest.raises(UserError, match="the sources differ from those of warmup"):
        join(both, dict.fromkeys(both, golden_region()))


def test_a_source_that_the_watch_excluded_may_stand_below_its_floor() -> None:
    region = golden_region()
    phases = make_phases(region, 0, 3, 0)
    phases.weights[2] = [0, 0.8, 0.2]
    assert join({"polish": phases}, {"polish": region}).phases.weights[2, 0] == 0


def test_the_shipped_regions_are_read() -> None:
    found = read_regions(tree.load(ROOT / "params.yaml"))
    assert list(found) == ["warmup", "firehose", "polish"]
    assert [int(region.active.sum()) for region in found.values()] == [7, 16, 14]
