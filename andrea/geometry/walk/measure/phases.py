"""The walk of a run as arrays: the phases of its regimes, and the regions they moved in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from andrea.common import tables
from andrea.common.errors import UserError
from andrea.config.training import REGIMES
from andrea.mixture.simplex import Region, Vector

if TYPE_CHECKING:
    from andrea.config.tree import Config

BY_SOURCE = ("weight", "score", "reward", "noise", "sequences")
EDGE = 1e-9  # a weight this near to a bound lies on it


@dataclass(frozen=True, eq=False)
class Phases:
    """The p phases of one regime, in order."""

    sources: tuple[str, ...]  # names, (k,)
    start_step: NDArray[np.int64]  # first step of each, (p,)
    steps: NDArray[np.int64]  # how many it had, (p,)
    kinds: NDArray[np.str_]  # `random`, `bandit` or `fixed`, (p,)
    weights: Vector  # shares that it asked for, (p, k)
    scores: Vector  # of the sources as it began, (p, k); NaN where one was owed an exploration
    rewards: Vector  # that it brought, (p, k); 0 for a source that it did not train on
    noise: Vector  # deviation of the estimate of each reward, (p, k); NaN where unknown
    sequences: NDArray[np.int64]  # trained, (p, k)


@dataclass(frozen=True, eq=False)
class Walk:
    """The phases of a whole run."""

    phases: Phases  # of all regimes, one after the other, (p,)
    names: tuple[str, ...]  # of the r regimes that had a step, (r,)
    regions: tuple[Region, ...]  # of the same, as the parameters give them
    regime: NDArray[np.int64]  # index of each phase's regime, (p,)

    @property
    def end_step(self) -> int:
        """First step after the run."""
        return int(self.phases.start_step[-1] + self.phases.steps[-1])


def read_phases(path: Path) -> Phases:
    """Read the `phases.csv` of a regime.

    Raises:
        UserError: it is no table, a column is missing, or a field is no number; names file, line
            and column.
    """
    try:
        frame = tables.read(path, text=True)
    except ValueError as error:
        raise UserError(f"{path}: not a table ({error})") from error
    header, rows = list(frame.columns), frame.to_dict("records")
    sources = tuple(name.removeprefix("weight.") for name in header if name.startswith("weight."))
    needed = ["start_step", "steps", "kind", *(f"{c}.{s}" for c in BY_SOURCE for s in sources)]
    missing = sorted(set(needed) - set(header))
    if missing or not sources:
        raise UserError(f"{path}: has no column {(missing or ['weight.<source>'])[0]}")

    def column(name: str) -> list[float]:
        return [_number(path, line, name, row[name]) for line, row in enumerate(rows, 2)]

    def table(name: str) -> Vector:
        return np.array([column(f"{name}.{source}") for source in sources]).T.reshape(
            len(rows), len(sources)
        )

    return Phases(
        sources,
        np.array(column("start_step"), dtype=np.int64),
        np.array(column("steps"), dtype=np.int64),
        np.array([row["kind"] for row in rows], dtype=np.str_),
        table("weight"),
        table("score"),
        table("reward"),
        table("noise"),
        table("sequences").astype(np.int64),
    )


def read_regions(config: Config) -> dict[str, Region]:
    """The region of every regime, by name and in order.

    Raises:
        UserError: a key is wrong or a region is empty.
    """
    found = {}
    for name in REGIMES:
        bounds = config.bounds(name)
        found[name] = Region(np.array(bounds.lower), np.array(bounds.upper))
    return found


def join(by_regime: Mapping[str, Phases], regions: Mapping[str, Region]) -> Walk:
    """One walk out of the phases of its regimes; a regime without a step is left out.

    A source of weight 0 may stand below its floor: the watch excluded it while the run went on.

    Args:
        by_regime: phases by regime, in the order of the run.
        regions: by regime, at least of those.

    Raises:
        UserError: no regime had a step; the sources differ; a phase does not start where the one
            before ended; or it left its region, so that it is no phase of these parameters.
    """
    walked = {name: phases for name, phases in by_regime.items() if phases.steps.size}
    if not walked:
        raise UserError(f"phases of {', '.join(by_regime) or 'no regime'}: no step was trained")
    parts = list(walked.values())
    for name, phases in walked.items():
        if phases.sources != parts[0].sources:
            raise UserError(
                f"phases of {name}: the sources differ from those of {next(iter(walked))}"
            )
        _refuse_outside(name, phases, regions[name])
    _refuse_gaps(list(walked), parts)
    columns = [name for name in Phases.__dataclass_fields__ if name != "sources"]
    whole = Phases(
        parts[0].sources,
        *(np.concatenate([getattr(part, column) for part in parts]) for column in columns),
    )
    index = np.repeat(np.arange(len(parts)), [part.steps.size for part in parts])
    return Walk(whole, tuple(walked), tuple(regions[name] for name in walked), index)


def _refuse_outside(name: str, phases: Phases, region: Region) -> None:
    if region.lower.size != len(phases.sources):
        raise UserError(
            f"phases of {name}: {len(phases.sources)} sources, the parameters have"
            f" {region.lower.size}; run `dvc repro`"
        )
    weights = phases.weights
    below = (weights < region.lower - EDGE) & (weights > 0)
    for phase, source in np.argwhere(below | (weights > region.upper + EDGE))[:1]:
        raise UserError(
            f"phases of {name}: weight {weights[phase, source]:.6g} of {phases.sources[source]} at"
            f" step {phases.start_step[phase]}, but the parameters allow"
            f" {region.lower[source]:g} to {region.upper[source]:g}; run `dvc repro`"
        )


def _refuse_gaps(names: Sequence[str], parts: Sequence[Phases]) -> None:
    expected = int(parts[0].start_step[0])
    for name, phases in zip(names, parts, strict=True):
        for start, steps in zip(phases.start_step, phases.steps, strict=True):
            if start != expected:
                raise UserError(
                    f"phases of {name}: one starts at step {start}, but the one before ended at"
                    f" {expected}; these are regimes of different runs"
                )
            expected = int(start + steps)


def _number(path: Path, line: int, name: str, text: str) -> float:
    """The number in a field; what was not finite was left empty, and comes back as NaN."""
    if text == "" and name.startswith(("score.", "reward.", "noise.")):
        return math.nan
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{path}:{line}: {name} is {text!r}, must be a number") from None
