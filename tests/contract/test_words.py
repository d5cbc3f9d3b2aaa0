"""One word per stage: script, stage, section, reports, metrics."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path

import pytest

from andrea.common import paths
from andrea.config import reading
from tests.contract.conftest import ROOT, Stage, pipeline, stages

PARAMS = reading.load(ROOT / paths.PARAMS)
STAGES: dict[str, Stage] = {stage.word: stage for stage in stages(PARAMS).values()}

NO_SECTION = {"baselines", "report", "shard"}  # have no numbers of their own
NO_METRICS = {"report"}  # draws those of `geometry`
# A manifest lies beside documents and tokens; track writes to MLflow.
NO_REPORT = {"documents", "ood", "shard", "track"}


def test_every_script_is_a_stage() -> None:
    """And every stage a script: nothing in the folder is private."""
    scripts = {file.stem for file in (ROOT / "stages").glob("*.py") if file.name != "__init__.py"}
    assert scripts == set(STAGES)


@pytest.mark.parametrize("word", STAGES)
def test_one_word(word: str) -> None:
    """Command, function, section, reports and metrics carry the name of the stage."""
    stage = STAGES[word]
    assert stage.command.split()[:3] == ["python", "-m", f"stages.{word}"]
    assert callable(getattr(importlib.import_module(f"stages.{word}"), word))
    assert (word in PARAMS) != (word in NO_SECTION)
    reports = [out for out in stage.outs if Path(out).is_relative_to(paths.REPORTS)]
    metrics = [Path(file) for file in pipeline()["metrics"]]
    if word in NO_REPORT:
        assert not reports
    else:
        assert reports == [str(paths.REPORTS / word)]
        expected = int(word not in NO_METRICS)
        assert metrics.count(paths.REPORTS / word / "metrics.json") == expected


def test_no_metrics_of_no_stage() -> None:
    """Metrics and plots name files inside a stage's reports."""
    reported = set(STAGES) - NO_REPORT
    plotted = [
        path for plot in pipeline()["plots"] for name, entry in plot.items()
        for path in (entry["y"] if isinstance(entry["y"], dict) else [name])
    ]  # fmt: skip
    for file in map(Path, [*pipeline()["metrics"], *plotted]):
        assert file.parent.parent == paths.REPORTS
        assert file.parent.name in reported


def test_no_two_stages_write_one_path() -> None:
    """Nor one inside another's."""
    outs = Counter(out for stage in stages(PARAMS).values() for out in stage.outs)
    assert max(outs.values()) == 1
    assert not [(a, b) for a in outs for b in outs if b.startswith(f"{a}/")]
