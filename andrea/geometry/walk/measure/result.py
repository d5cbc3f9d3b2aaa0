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
    """The walk phase by phase, n of them."""

    start_step: Integers  # first step of each, (n,)
    steps: Integers  # how many, (n,)
    kinds: NDArray[np.str_]  # `random`, `bandit` or `fixed`, (n,)
    regime: Integers  # place of the regime in `Walk.regimes`, (n,)
    entropy: Floats  # of the weights, nats, (n,)
    corner: Integers  # place of the source with the largest weight, (n,)
    corner_distance: Floats  # to the nearest corner of the simplex, (n,)
    vertex_distance: Floats  # to the nearest vertex of the region, (n,); NaN where not listed
    on_bound: Integers  # sources on a floor or cap, (n,)


@dataclass(frozen=True, eq=False)
class Walk:
    """The path of the mixture."""

    regimes: tuple[str, ...]  # names of those that had a step, (r,)
    path: Path  # phase by phase
    timeline: Timeline  # over steps, in bins
    shares: Shares  # planned against realised; its `lag_sequences` are those of every phase
    faces: Faces  # time on floors and caps
    sizes: tuple[RegimeSize, ...]  # of the regimes and their regions, (r,)
    where: tuple[Where, ...]  # how near the corners, beside chance
    plane: Plane  # path and polygons on two axes
    triangles: tuple[Triangle, ...]  # those that the parameters name; the first is polish's own


@dataclass(frozen=True, eq=False)
class Losses:
    """The training loss and what the watch said of it."""

    regime: NDArray[np.str_]  # of each row, (n,)
    step: Integers  # last step of each row, (n,)
    loss: Floats  # mean over the row's steps, nats per token, (n,)
    # Rows of all `alarms.csv` as text: `step`, `kind`, `source`, `nats`, `median`, `text` and
    # others. Those of kind `cliff` are marked on the curve.
    alarms: tuple[Mapping[str, str], ...]
