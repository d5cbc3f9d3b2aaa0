"""`deps` in dvc.yaml are the code that a stage imports: no less, or results go stale; no more."""

from __future__ import annotations

import pytest

from andrea.common import paths
from andrea.config import reading
from tests.contract.conftest import ROOT, closure, stages

STAGES = stages(reading.load(ROOT / paths.PARAMS))
# `track` writes no output that DVC keeps; it runs every time.
WITH_OUTPUT = {stage.word: stage for stage in STAGES.values() if not stage.always}


@pytest.mark.parametrize("word", WITH_OUTPUT)
def test_code_that_a_stage_imports_lies_in_what_it_depends_on(word: str) -> None:
    """Every file in a folder or file that is listed, and nothing is listed of which none is."""
    listed = [dep for dep in WITH_OUTPUT[word].deps if dep.startswith(("andrea/", "stages/"))]
    imported = closure(ROOT / "stages" / f"{word}.py")
    for file in imported:
        assert any(f"{file}/".startswith(f"{dep}/") for dep in listed), f"{word} imports {file}"
    for dep in listed:
        assert any(f"{file}/".startswith(f"{dep}/") for file in imported), f"{word} lists {dep}"
    assert len(listed) == len(set(listed))


def test_what_a_stage_reads_is_there_or_made_by_another() -> None:
    """No dependency on a path that nothing writes."""
    made = [out for stage in STAGES.values() for out in stage.outs]
    for name, stage in STAGES.items():
        for dep in stage.deps:
            is_made = any(f"{dep}/".startswith(f"{out}/") for out in made)
            holds_made = any(out.startswith(f"{dep}/") for out in made)
            assert is_made or holds_made or (ROOT / dep).exists(), f"{name}: {dep}"


def test_only_the_stage_without_output_always_runs() -> None:
    """Everything else is skipped when nothing changed."""
    assert {name for name, stage in STAGES.items() if stage.always} == {"track"}
    assert {name for name, stage in STAGES.items() if not stage.outs} == {"track"}
