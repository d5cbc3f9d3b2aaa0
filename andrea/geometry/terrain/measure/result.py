"""What the stage `geometry` found of the loss around and between the checkpoints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.geometry.terrain.measure.basin import Comparison, Radii, Sigma
from andrea.geometry.terrain.measure.critical import Critical
from andrea.geometry.terrain.measure.hessian import TopEigenvalue
from andrea.geometry.terrain.measure.plane import PlanePicture
from andrea.geometry.terrain.measure.surface import Slices

SNAPSHOT = "snapshot"  # stands among the names of checkpoints


@dataclass(frozen=True, eq=False)
class Basin:
    """The surroundings of one checkpoint on one batch."""

    checkpoint: str  # its name, or `control`
    batch: str  # `all` (text of all sources) or `priority` (of the source that polish favours)
    nats: float  # loss per token at the checkpoint
    radii: Radii  # how far in random directions
    sigma: Sigma  # the noise it bears
    # rho of the next, as root mean squares of relative changes, (n,).
    sharpness_radii: tuple[float, ...]
    sharpness: NDArray[np.float64]  # rise of the loss in the worst direction, nats, (n,)
    eigenvalue: TopEigenvalue | None  # of the Hessian; None for the batch `priority`
    slices: Slices | None  # along random directions; None for the batch `priority`


@dataclass(frozen=True, eq=False)
class Steepness:
    """How large a step from the last checkpoint may be before one source's loss rises."""

    source: str  # whose held-out text
    last: Critical  # along the run's last update
    own: Critical  # along the update that this source alone asks for


@dataclass(frozen=True, eq=False)
class Judgement:
    """Radii of the last checkpoint against others of another, on one batch."""

    batch: str  # `all` or `priority`
    against: str  # `control` (a fair comparison) or `firehose` (none: the rate fell meanwhile)
    rows: tuple[Comparison, ...]  # one per rise of the loss


@dataclass(frozen=True, eq=False)
class Terrain:
    """The loss around and between the checkpoints, on fixed held-out batches."""

    batch_tokens: int  # tokens of the batch `all`, evenly over the sources
    # Of warmup, firehose, polish and, if given, the control, on `all`; of polish, firehose and the
    # control on `priority`.
    basins: tuple[Basin, ...]
    # Of the checkpoints and the snapshots between them in the order of the run (then the control,
    # if given); None where they span none.
    plane: PlanePicture | None
    plane_names: tuple[str, ...]  # along `plane.path`; every snapshot is called `SNAPSHOT`
    plane_steps: tuple[int, ...]  # optimiser steps done there
    rate: float  # learning rate of the last step
    steepness: tuple[Steepness, ...]  # by source
    control: str  # sha256 of the control's file; empty without one
    # See there. Without a control nothing can be concluded, and the page must say so.
    judgements: tuple[Judgement, ...]
    caveats: tuple[str, ...]  # to be printed with the numbers
