"""The whole of `params.yaml` at once: a wrong number is refused before the first stage works."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from andrea.common.errors import UserError
from andrea.config import regime, scale, sources, tokenizer
from andrea.config.bandit import Bandit
from andrea.config.compute import Compute
from andrea.config.curriculum import Curriculum
from andrea.config.evaluate import Evaluate
from andrea.config.geometry import Geometry
from andrea.config.optimizer import Optimizer
from andrea.config.reading import Range, leaf, section
from andrea.config.scratch import Scratch
from andrea.config.shard import Shard
from andrea.config.track import Track
from andrea.config.watch import Watch

SECTIONS: dict[str, type] = {
    "tokenizer": tokenizer.Tokenizer,
    "shard": Shard,
    "optimizer": Optimizer,
    "bandit": Bandit,
    "curriculum": Curriculum,
    "compute": Compute,
    "watch": Watch,
    "scratch": Scratch,
    "evaluate": Evaluate,
    "geometry": Geometry,
    "track": Track,
}


def check(params: Mapping[str, Any]) -> None:
    """Read every section.

    Raises:
        UserError: names the first key that is wrong, its value and what is allowed.
    """
    known = {"seed", "scale", "scales", "sources", *SECTIONS, *regime.NAMES}
    for name in params:
        if name not in known:
            raise UserError(f"{name}: unknown section, allowed are {', '.join(sorted(known))}")
    leaf(params, "seed", Annotated[int, Range(0, 2**32 - 1)])
    scale.active(params)
    for name in params["scales"]:
        section(params, f"scales.{name}", scale.Scale)
    names = list(sources.read(params))
    for name, kind in SECTIONS.items():
        section(params, name, kind)
    tokenizer.read(params, names)
    for place, three in enumerate(section(params, "geometry", Geometry).triangles):
        for source in three:
            if source not in names:
                raise UserError(f"geometry.triangles[{place}]: unknown source {source!r}")
    ends = {name: regime.read(params, name, names)[0].end for name in regime.NAMES}
    if not ends["warmup"] <= ends["firehose"] <= ends["polish"]:
        listed = ", ".join(f"{name}.end {end:g}" for name, end in ends.items())
        raise UserError(f"firehose.end: regimes must end in order, found {listed}")
    if ends["polish"] == 0:
        raise UserError("polish.end: 0 is not allowed, as the run would have no step")
