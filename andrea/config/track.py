"""Section `track`: how a run is shown in MLflow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Track:
    """Name of the MLflow experiment that the runs stand in."""

    experiment: str
