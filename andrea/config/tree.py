"""The whole of `params.yaml`, read once: one frozen tree, of which typed parts are passed on.

A wrong number anywhere is refused before the first stage works.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from andrea.common.codec import Range, decode
from andrea.common.errors import UserError
from andrea.config import renamed, training
from andrea.config.evaluation import Evaluate
from andrea.config.geometry import Geometry
from andrea.config.outside import Limits, Scratch, Track
from andrea.config.override import override
from andrea.config.reading import load as load_yaml
from andrea.config.text import LONGEST_NAME, Documents, OutOfDomain, Source, Tokenizer


@dataclass(frozen=True)
class Config:
    """All sections, under their names in the file; `scale_name` is the file's `scale`."""

    seed: Annotated[int, Range(0, 2**32 - 1)]
    scale_name: str
    scales: Mapping[str, training.Scale]
    sources: Mapping[str, Source]
    documents: Documents
    ood: OutOfDomain
    tokenizer: Tokenizer
    optimizer: training.Optimizer
    bandit: training.Bandit
    curriculum: training.Curriculum
    warmup: training.Warmup
    firehose: training.Regime
    polish: training.Polish
    compute: training.Compute
    watch: training.Watch
    limits: Limits
    scratch: Scratch
    evaluate: Evaluate
    geometry: Geometry
    track: Track

    @property
    def scale(self) -> training.Scale:
        """The scale that is named."""
        return self.scales[self.scale_name]

    @property
    def regimes(self) -> dict[str, training.Regime]:
        """In the order that they are trained in."""
        return {name: getattr(self, name) for name in training.REGIMES}

    def bounds(self, name: str) -> training.Bounds:
        """Floors and caps of every source in the regime `name`."""
        return training.bounds(name, self.regimes[name], list(self.sources))


def load(path: Path, changes: Iterable[str] = ()) -> Config:
    """Read a file, with changes as `dvc exp run -S` takes them.

    Raises:
        UserError: names the file, or the first key that is wrong, its value and what is allowed.
    """
    return read(override(load_yaml(path), changes))


def read(params: Mapping[str, Any]) -> Config:
    """Check plain dictionaries and return them typed.

    Raises:
        UserError: names the first key that is wrong, its value and what is allowed.
    """
    sections = list(Config.__dataclass_fields__)
    known = ["scale" if name == "scale_name" else name for name in sections]
    renamed.refuse(params)
    for name in params:
        if name not in known:
            raise UserError(f"{name}: unknown section, allowed are {', '.join(sorted(known))}")
    for name in known:
        if name not in params:
            raise UserError(f"{name}: missing in params.yaml")
    kinds = get_type_hints(Config, include_extras=True)
    try:
        read = {
            section: decode(params[name], kinds[section], name)
            for section, name in zip(sections, known, strict=True)
        }
    except UserError as error:
        if str(error).endswith(": missing"):
            raise UserError(f"{error} in params.yaml") from error
        raise
    config = Config(**read)
    _check(config)
    return replace(config, tokenizer=_all_weights(config))


def _check(config: Config) -> None:
    """What sections ask of each other."""
    if config.scale_name not in config.scales:
        known = ", ".join(config.scales)
        raise UserError(f"scale: {config.scale_name!r} is not one of {known}")
    _check_sources(config.sources)
    for source in config.tokenizer.weights:
        if source not in config.sources:
            raise UserError(f"tokenizer.weights.{source}: unknown source")
    for place, three in enumerate(config.geometry.triangles):
        for source in three:
            if source not in config.sources:
                raise UserError(f"geometry.triangles[{place}]: unknown source {source!r}")
    for name in training.REGIMES:
        config.bounds(name)
    ends = {name: regime.end for name, regime in config.regimes.items()}
    if not ends["warmup"] <= ends["firehose"] <= ends["polish"]:
        listed = ", ".join(f"{name}.end {end:g}" for name, end in ends.items())
        raise UserError(f"firehose.end: regimes must end in order, found {listed}")
    if ends["polish"] == 0:
        raise UserError("polish.end: 0 is not allowed, as the run would have no step")


def _check_sources(sources: Mapping[str, Source]) -> None:
    if len(sources) < 2:
        raise UserError(f"sources: {len(sources)} named, a mixture needs at least 2")
    for name in sources:
        if not name.replace("-", "").replace("_", "").isalnum():
            raise UserError(f"sources.{name}: a name has letters, digits, - and _ only")
        if name == "all" or name.startswith("-") or len(name) > LONGEST_NAME:
            raise UserError(
                f"sources.{name}: not allowed as a name; it must not be `all`, begin with - or be"
                f" longer than {LONGEST_NAME} characters"
            )


def _all_weights(config: Config) -> Tokenizer:
    """With a weight for every source; one that is not named has the mean of the others."""
    named = config.tokenizer.weights
    mean = sum(named.values()) / len(named) if named else 1.0
    weights = {name: named.get(name, mean) for name in config.sources}
    return replace(config.tokenizer, weights=weights)
