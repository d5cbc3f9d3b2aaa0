"""Sections `warmup`, `firehose` and `polish`: the region of weights of each regime.

A region is `{w : sum w = 1, lower <= w <= upper}`. A source that a regime does not name has cap 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from andrea.common.errors import UserError
from andrea.config.reading import Range, section

Share = Annotated[float, Range(0, 1)]
NAMES = ("warmup", "firehose", "polish")


@dataclass(frozen=True)
class Regime:
    """One regime: it ends at the share `end` of the run's steps."""

    end: Share
    sources: Literal["all"] | tuple[str, ...]
    floors: Mapping[str, Share]
    caps: Mapping[str, Share]


@dataclass(frozen=True)
class Warmup(Regime):
    """The first regime: it may start from a checkpoint file instead of from noise."""

    start: str | None


@dataclass(frozen=True)
class Polish(Regime):
    """The last regime: `floor` holds the weight of `priority` up."""

    priority: str
    floor: Share


KINDS: Mapping[str, type[Regime]] = {"warmup": Warmup, "polish": Polish}


@dataclass(frozen=True)
class Bounds:
    """Floors and caps of every source, in the order of `sources` (all shape (k,))."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]


def read(params: Mapping[str, Any], name: str, sources: Sequence[str]) -> tuple[Regime, Bounds]:
    """Read the regime `name` and its region.

    Raises:
        UserError: a key is wrong or the region is empty; names the sources that bind.
    """
    regime = section(params, name, KINDS.get(name, Regime))
    floors = dict(regime.floors)
    if isinstance(regime, Polish):
        _known(regime.priority, sources, f"{name}.priority")
        if regime.priority in floors:
            raise UserError(f"{name}.floors.{regime.priority}: set {name}.floor instead")
        floors[regime.priority] = regime.floor
    return regime, _bounds(name, regime, floors, sources)


def last_step(regime: Regime, steps: int) -> int:
    """First step after the regime: its share of the run, rounded half up."""
    return math.floor(regime.end * steps + 0.5)


def _bounds(
    name: str, regime: Regime, floors: Mapping[str, float], sources: Sequence[str]
) -> Bounds:
    for key, named in (("floors", regime.floors), ("caps", regime.caps)):
        for source in named:
            _known(source, sources, f"{name}.{key}.{source}")
    taking_part = list(sources) if regime.sources == "all" else list(regime.sources)
    if not taking_part:
        raise UserError(f"{name}.sources: none is named, must be `all` or a list of sources")
    for source in taking_part:
        _known(source, sources, f"{name}.sources")
    upper = {s: regime.caps.get(s, 1.0) if s in taking_part else 0.0 for s in sources}
    for source, floor in floors.items():
        own = isinstance(regime, Polish) and source == regime.priority
        key = f"{name}.floor" if own else f"{name}.floors.{source}"
        if floor > 0 and upper[source] == 0:
            raise UserError(f"{key}: {floor:g} is a floor on {source}, which {name} excludes")
        if floor > upper[source]:
            raise UserError(f"{key}: {floor:g} is above the cap {upper[source]:g} of {source}")
    total = math.fsum(floors.values())
    if total > 1 + 1e-12:
        listed = ", ".join(f"{s} {f:g}" for s, f in floors.items() if f > 0)
        raise UserError(f"{name}.floors: sum to {total:g}, at most 1 is allowed ({listed})")
    room = math.fsum(upper.values())
    if room < 1 - 1e-12:
        raise UserError(f"{name}.caps: sum to {room:g} over its sources, at least 1 is needed")
    lower = tuple(floors.get(s, 0.0) for s in sources)
    return Bounds(lower, tuple(upper[s] for s in sources))


def _known(source: str, sources: Sequence[str], key: str) -> None:
    if source not in sources:
        raise UserError(f"{key}: unknown source {source!r}, known are {', '.join(sources)}")
