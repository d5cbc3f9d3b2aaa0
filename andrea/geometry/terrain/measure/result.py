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
    """The surroundings of one checkpoint on one batch.

    Attributes:
        checkpoint: its name, or `control`.
        batch: `all` (text of all sources) or `priority` (of the source that polish favours).
        nats: loss per token at the checkpoint.
        radii: how far in random directions.
        sigma: the noise it bears.
        sharpness_radii: rho of the next, as root mean squares of relative changes, (n,).
        sharpness: rise of the loss in the worst direction, nats, (n,).
        eigenvalue: of the Hessian; None for the batch `priority`.
        slices: along random directions; None for the batch `priority`.
    """

    checkpoint: str
    batch: str
    nats: float
    radii: Radii
    sigma: Sigma
    sharpness_radii: tuple[float, ...]
    sharpness: NDArray[np.float64]
    eigenvalue: TopEigenvalue | None
    slices: Slices | None


@dataclass(frozen=True, eq=False)
class Steepness:
    """How large a step from the last checkpoint may be before one source's loss rises.

    Attributes:
        source: whose held-out text.
        last: along the run's last update.
        own: along the update that this source alone asks for.
    """

    source: str
    last: Critical
    own: Critical


@dataclass(frozen=True, eq=False)
class Judgement:
    """Radii of the last checkpoint against others of another, on one batch.

    Attributes:
        batch: `all` or `priority`.
        against: `control` (a fair comparison) or `firehose` (none: the rate fell meanwhile).
        rows: one per rise of the loss.
    """

    batch: str
    against: str
    rows: tuple[Comparison, ...]


@dataclass(frozen=True, eq=False)
class Terrain:
    """The loss around and between the checkpoints, on fixed held-out batches.

    Attributes:
        batch_tokens: tokens of the batch `all`, evenly over the sources.
        basins: of warmup, firehose, polish and, if given, the control, on `all`; of polish,
            firehose and the control on `priority`.
        plane: of the checkpoints and the snapshots between them in the order of the run (then the
            control, if given); None where they span none.
        plane_names: along `plane.path`; every snapshot is called `SNAPSHOT`.
        plane_steps: optimiser steps done there.
        rate: learning rate of the last step.
        steepness: by source.
        control: sha256 of the control's file; empty without one.
        judgements: see there. Without a control nothing can be concluded, and the page must say so.
        caveats: to be printed with the numbers.
    """

    batch_tokens: int
    basins: tuple[Basin, ...]
    plane: PlanePicture | None
    plane_names: tuple[str, ...]
    plane_steps: tuple[int, ...]
    rate: float
    steepness: tuple[Steepness, ...]
    control: str
    judgements: tuple[Judgement, ...]
    caveats: tuple[str, ...]
