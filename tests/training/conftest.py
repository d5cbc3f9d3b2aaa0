"""A run of a second, whole and in three regimes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from andrea.mixture.simplex import Region
from andrea.training.run import Run
from tests.runs import STEPS, made_run


@pytest.fixture
def run() -> Run:
    """All steps in one regime."""
    return made_run()


@pytest.fixture
def regimes(run: Run) -> list[Run]:
    """Two sources, then three, then mostly the last without the first."""
    zeros = np.zeros(3)
    return [
        replace(run, index=0, region=Region(zeros, np.array([1.0, 1.0, 0.0])), end_step=10),
        replace(run, index=1, region=Region(zeros, np.ones(3)), end_step=25),
        replace(
            run,
            index=2,
            region=Region(np.array([0.0, 0.0, 0.7]), np.array([0.0, 0.25, 1.0])),
            end_step=STEPS,
        ),
    ]
