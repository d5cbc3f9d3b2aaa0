"""What the stage `geometry` found of the walk of the mixture, and the loss along it.

Letters: r regimes that had a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.geometry.walk.measure.places import Faces, Shares
from andrea.geometry.walk.measure.shadow import Plane
from andrea.geometry.walk.measure.summary import RegimeSize, Where
from andrea.geometry.walk.measure.timeline import Timeline
from andrea.geometry.walk.measure.triangle import Triangle

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Path:
    """The walk phase by phase, n of them.

    Attributes:
        start_step: first step of each, (n,).
        steps: how many, (n,).
        kinds: `random`, `bandit` or `fixed`, (n,).
        regime: place of the regime in `Walk.regimes`, (n,).
        entropy: of the weights, nats, (n,).
        corner: place of the source with the largest weight, (n,).
        corner_distance: to the nearest corner of the simplex, (n,).
        vertex_distance: to the nearest vertex of the region, (n,); NaN where not listed.
        on_bound: sources on a floor or cap, (n,).
    """

    start_step: Integers
    steps: Integers
    kinds: NDArray[np.str_]
    regime: Integers
    entropy: Floats
    corner: Integers
    corner_distance: Floats
    vertex_distance: Floats
    on_bound: Integers


@dataclass(frozen=True, eq=False)
class Walk:
    """The path of the mixture.

    Attributes:
        regimes: names of those that had a step, (r,).
        path: phase by phase.
        timeline: over steps, in bins.
        shares: planned against realised; its `lag_sequences` are those of every phase.
        faces: time on floors and caps.
        sizes: of the regimes and their regions, (r,).
        where: how near the corners, beside chance.
        plane: path and polygons on two axes.
        triangles: those that the parameters name; the first is polish's own.
    """

    regimes: tuple[str, ...]
    path: Path
    timeline: Timeline
    shares: Shares
    faces: Faces
    sizes: tuple[RegimeSize, ...]
    where: tuple[Where, ...]
    plane: Plane
    triangles: tuple[Triangle, ...]


@dataclass(frozen=True, eq=False)
class Losses:
    """The training loss and what the watch said of it.

    Attributes:
        regime: of each row, (n,).
        step: last step of each row, (n,).
        loss: mean over the row's steps, nats per token, (n,).
        alarms: rows of all `alarms.csv` as text: `step`, `kind`, `source`, `nats`, `median`,
            `text` and others. Those of kind `cliff` are marked on the curve.
    """

    regime: NDArray[np.str_]
    step: Integers
    loss: Floats
    alarms: tuple[Mapping[str, str], ...]
