from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from andrea.common.files import sha256
from andrea.config.training import Optimizer
from andrea.scratch import inputs

ROOT = Path(__file__).parents[2]
REGIME = ROOT / "andrea/training/regime.py"
CFG = Optimizer(0.9, 0.999, 1e-8, 0.1, 1.0, 0.01, 0.1)


def test_it_is_plain_and_flat() -> None:
    values = {"seed": 1, "optimizer": CFG, "regime": {"caps": (1.0, 0.5)}, "data": {}}
    described = inputs.describe(values, REGIME)
    assert json.loads(json.dumps(described)) == described
    assert not any(isinstance(value, dict) for value in described.values())
    assert described["optimizer.beta1"] == 0.9
    assert described["regime.caps"] == [1.0, 0.5]
    loop = ROOT / "andrea/training/loop.py"
    assert described["code.andrea/training/loop.py"] == sha256(loop)


def test_the_code_that_decides_is_in_it() -> None:
    """All that a regime imports, but what only shows, refuses or takes up again."""
    code = inputs.closure(REGIME)
    decides = (
        "training/loop",
        "training/state",
        "training/history",
        "mixture/sampler",
        "model/gpt",
    )
    assert {f"andrea/{name}.py" for name in decides} <= code
    assert "andrea/training/regime.py" in code
    assert not any(name.startswith(inputs.NEUTRAL) for name in code)


@pytest.mark.parametrize("section", ["tree", "evaluation", "geometry", "text", "outside"])
def test_parameters_of_others_are_not_in_it(section: str) -> None:
    """So that a new parameter of the geometry takes nothing from a run that was killed."""
    assert f"andrea/config/{section}.py" not in inputs.closure(REGIME)


def test_what_is_neutral_is_there() -> None:
    """Else a folder that was renamed would count again."""
    for name in inputs.NEUTRAL:
        assert (ROOT / name).exists(), name


def test_imports_inside_functions_count_and_those_for_types_do_not(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from andrea.config import tree\n"
        "def f() -> None:\n    import andrea.model.gpt\n"
    )
    assert inputs.imports(script) == {"typing", "typing.TYPE_CHECKING", "andrea.model.gpt"}


def test_all_that_is_loaded_was_named() -> None:
    """A regime that is imported loads no module of ours that its closure and `NEUTRAL` lack."""
    import subprocess

    told = subprocess.run(
        [sys.executable, "-c", "import sys, andrea.training.regime; print(*sys.modules)"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {name.replace(".", "/") + ".py" for name in told.stdout.split() if "andrea." in name}
    files = {name for name in loaded if (ROOT / name).is_file()}
    missed = {name for name in files if not name.startswith(inputs.NEUTRAL)} - inputs.closure(
        REGIME
    )
    assert missed == set()
