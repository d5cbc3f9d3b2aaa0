"""A run of a second, whole and in three regimes."""

from __future__ import annotations

import pytest

from andrea.training.run import Run
from tests.runs import in_three_regimes, made_run


@pytest.fixture
def run() -> Run:
    """All steps in one regime."""
    return made_run()


@pytest.fixture
def regimes(run: Run) -> list[Run]:
    """The same steps in three."""
    return in_three_regimes(run)
