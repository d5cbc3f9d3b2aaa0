"""What a run will take and need, from its parameters and the sizes of its files alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from andrea.common import files, paths
from andrea.common.errors import UserError
from andrea.config.training import Bandit, Curriculum, Scale, last_step
from andrea.config.tree import Config
from andrea.mixture.simplex import Region
from andrea.planning import guess
from andrea.planning.repeats import planned_epochs, refuse_repeats, warn_of_repeats

FLOAT_BYTES = 4
COPIES_IN_MEMORY = 4  # weights, gradients, two moments
COPIES_ON_DISK = 3  # weights, two moments
TOKEN_BYTES = 2
FORWARD_SHARE = 1 / 3  # of a training step: a backward pass is two forward passes

# Floats that the backward pass needs, in units of tokens x width: counted on this network with
# `torch.autograd.graph.saved_tensors_hooks`.
SAVED_PER_LAYER = 17
SAVED_ONCE = 4


@dataclass(frozen=True)
class Length:
    """Training tokens of one source; `counted` in its shard, else guessed."""

    tokens: int
    counted: bool


@dataclass(frozen=True)
class RegimePlan:
    """One regime; `epochs` are those that it adds, by source.

    `slowdown` is the time of a step with the forward passes of the probes, over that without.
    """

    name: str
    first_step: int
    end_step: int
    tokens: int
    epochs: Mapping[str, float]
    slowdown: float


@dataclass(frozen=True)
class Plan:
    """A run before it is started; `epochs` by source, `refusals` and `warnings` one line each."""

    scale_name: str
    scale: Scale
    regimes: Sequence[RegimePlan]
    lengths: Mapping[str, Length]
    state_bytes: int
    activation_bytes: int
    checkpoint_bytes: int
    shard_bytes: int
    epochs: Mapping[str, float]
    refusals: Sequence[str]
    warnings: Sequence[str]


def plan(config: Config, lengths: Mapping[str, Length]) -> Plan:
    """Work out a run from the lengths of all its sources, in order."""
    scale = config.scale
    tokens = {source: length.tokens for source, length in lengths.items()}
    planned: list[RegimePlan] = []
    refusals: list[str] = []
    first = 0
    for name, cfg in config.regimes.items():
        bounds = config.bounds(name)
        region = Region(np.array(bounds.lower), np.array(bounds.upper))
        end = last_step(cfg, scale.steps)
        epochs = planned_epochs(region, end - first, scale.step_tokens, tokens)
        slowdown = _slowdown(int(region.active.sum()), scale, config.bandit, config.curriculum)
        step_tokens = (end - first) * scale.step_tokens
        planned.append(RegimePlan(name, first, end, step_tokens, epochs, slowdown))
        if end > first:
            refusals += _short(name, region, lengths, scale.context)
        first = end
    whole = {source: sum(regime.epochs[source] for regime in planned) for source in lengths}
    try:
        refuse_repeats(whole, config.limits)
    except UserError as error:
        refusals.append(str(error))
    weights_bytes = FLOAT_BYTES * scale.parameters
    return Plan(
        scale_name=config.scale_name,
        scale=scale,
        regimes=planned,
        lengths=lengths,
        state_bytes=COPIES_IN_MEMORY * weights_bytes,
        activation_bytes=_activation_bytes(scale, config.compute.dtype),
        checkpoint_bytes=len(planned) * (COPIES_ON_DISK + scale.snapshots) * weights_bytes,
        shard_bytes=TOKEN_BYTES * sum(tokens.values()),
        epochs=whole,
        refusals=refusals,
        warnings=warn_of_repeats(whole, config.limits.warn_epochs) if config.watch.enabled else [],
    )


def check(config: Config) -> None:
    """Refuse the whole run, or warn of what it will do, before a regime of it works.

    Raises:
        UserError: as `refuse`.
    """
    for warning in refuse(config).warnings:
        print(f"warning: {warning}", file=sys.stderr)


def refuse(config: Config) -> Plan:
    """Refuse the whole run before a regime of it works, or give its plan.

    Raises:
        UserError: a source is too short or would be read too often, or a named file is not there.
    """
    planned = plan(config, read_lengths(config))
    if refusals := [*planned.refusals, *missing_files(config)]:
        raise UserError("; ".join(refusals))
    return planned


def missing_files(config: Config) -> list[str]:
    """Parameters that name a checkpoint which is not there, one line each."""
    named = {"warmup.start": config.warmup.start, "geometry.control": config.geometry.control}
    return [
        f"{key}: {path}: no such file; must be null or a checkpoint in data/imported"
        for key, path in named.items()
        if path is not None and not (paths.repository() / path).is_file()
    ]


def read_lengths(config: Config) -> dict[str, Length]:
    """Training tokens of every source, from its shard where that has the right vocabulary.

    Raises:
        UserError: a source's text is missing or cannot be read, or its manifest is damaged.
    """
    return {name: _length(config, name) for name in config.sources}


def _length(config: Config, name: str) -> Length:
    manifest = paths.SHARDS / name / "manifest.json"
    if manifest.is_file():
        try:
            manifest_json = files.read_json(manifest)
            of, tokens = (
                manifest_json["vocabulary"],
                int(manifest_json["splits"]["train"]["tokens"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"shard {name}: {manifest} is damaged ({error}); remove it and run `dvc repro`"
            ) from error
        if of == config.scale.vocabulary:
            return Length(tokens, counted=True)
    return Length(guess.tokens(name, config.sources[name], config.documents), counted=False)


def _slowdown(sources: int, scale: Scale, bandit: Bandit, curriculum: Curriculum) -> float:
    if bandit.reward != "probe":
        return 1.0
    phase_steps = (curriculum.shortest_phase + curriculum.longest_phase) / 2
    trained_rows = phase_steps * scale.micro_batch * scale.grad_accumulation
    return 1 + FORWARD_SHARE * sources * bandit.probe_rows / trained_rows


def _activation_bytes(scale: Scale, dtype: str) -> int:
    saved = (SAVED_PER_LAYER * scale.n_layers + SAVED_ONCE) * scale.micro_batch * scale.context
    element_bytes = 2 if dtype == "bf16" else FLOAT_BYTES
    return (saved * element_bytes + FLOAT_BYTES * scale.vocabulary) * scale.d_model


def _short(name: str, region: Region, lengths: Mapping[str, Length], context: int) -> list[str]:
    return [
        f"source {source}: {length.tokens} training tokens are less than one sequence of {context};"
        f" add text or exclude it ({name}.caps.{source}=0)"
        for (source, length), active in zip(lengths.items(), region.active, strict=True)
        if active and length.tokens <= context
    ]
