"""Regions that the tests of the mixture share."""

from __future__ import annotations

import numpy as np
import pytest

from andrea.mixture.simplex import Region

NAMES = (
    "hermes3-general hermes3-creative hermes3-roleplay chat smoltalk oasst gutenberg dictionary"
    " repo-docs repo-docstrings repo-commits irc unweapon synthetic-chat unfirehose-chat factbook"
).split()
RAISED = (
    "chat smoltalk oasst irc synthetic-chat unfirehose-chat hermes3-creative hermes3-roleplay"
).split()


def _bounds(floors: dict[str, float], caps: dict[str, float]) -> Region:
    lower = np.array([floors.get(name, 0.0) for name in NAMES])
    upper = np.array([caps.get(name, 1.0) for name in NAMES])
    return Region(lower, upper)


@pytest.fixture
def regimes() -> dict[str, Region]:
    """The three default regimes over all sixteen sources."""
    floors = {"hermes3-general": 0.7} | dict.fromkeys(RAISED, 0.01)
    return {
        "warmup": _bounds({}, dict.fromkeys(NAMES[7:], 0.0)),
        "firehose": _bounds({}, {}),
        "polish": _bounds(floors, {"dictionary": 0.25, "repo-docs": 0.0, "repo-docstrings": 0.0}),
    }


@pytest.fixture
def golden() -> Region:
    """hermes3-general at least one half, gutenberg free, dictionary at most a quarter."""
    return Region(np.array([0.5, 0, 0]), np.array([1, 1, 0.25]))


@pytest.fixture
def hard() -> Region:
    """Rejection from the simplex, plain or mirrored, accepts fewer than one in a million here."""
    return Region(np.zeros(16), np.array([0.04] * 12 + [0.4] * 4))
