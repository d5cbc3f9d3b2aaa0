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
def test_code_that_a_stage_depends_on_is_what_it_imports(word: str) -> None:
    """`python tests/contract/conftest.py <stage>` prints the list to paste."""
    listed = [dep for dep in WITH_OUTPUT[word].deps if dep.endswith(".py")]
    assert set(listed) == closure(ROOT / "stages" / f"{word}.py")
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
