"""What is measured: a finished run, its weights from the first to the last."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from torch import Tensor

from andrea.common import paths
from andrea.common.errors import UserError
from andrea.common.files import sha256
from andrea.config.geometry import Geometry
from andrea.config.training import REGIMES, Compute, Scale
from andrea.geometry.measure.result import Facts
from andrea.geometry.terrain.measure.surface import put
from andrea.geometry.walk.measure import phases
from andrea.mixture.simplex import Region
from andrea.model import bigram_init
from andrea.model.gpt import GPT
from andrea.tokens.shards import Shard, open_shard
from andrea.tokens.tokenizer import Tokenizer
from andrea.training import checkpoint, machine, snapshots, start, state
from andrea.training.state import TrainState

if TYPE_CHECKING:
    from andrea.config.tree import Config

INITIAL, CONTROL = "initial", "control"
LAST = REGIMES[-1]


@dataclass(frozen=True)
class Snapshot:
    """Weights at a step within a regime, read from their file one tensor after the other."""

    regime: str
    step: int  # optimiser steps done
    path: Path
    names: tuple[str, ...]  # of the tensors, in the order of the network's parameters

    def __iter__(self) -> Iterator[Tensor]:
        with safe_open(self.path, framework="pt") as file:
            for name in self.names:
                yield file.get_tensor(name)


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """All that the four chapters read."""

    cfg: Geometry  # section `geometry`
    scale: Scale
    facts: Facts  # what the report says of the run
    shards: dict[str, Shard]  # by source
    tokenizer: Tokenizer
    state: TrainState  # the last checkpoint as it was trained on, in fp32
    # By checkpoint, `initial` first, in the order of `state.model.parameters()`.
    weights: dict[str, list[Tensor]]
    snapshots: tuple[Snapshot, ...]  # those of every regime, in the order of their steps
    control: list[Tensor] | None  # weights of the control; None without one
    control_sha256: str  # of its file; empty without one
    cursors: tuple[int, ...]  # sequences that each source has given in all, (k,)
    regions: dict[str, Region]  # of the regimes, by name

    @property
    def model(self) -> GPT:
        """The network; every user puts its weights back."""
        return self.state.model

    def place(self, name: str) -> GPT:
        """The network with the weights of a checkpoint."""
        weights = self.control if name == CONTROL else self.weights[name]
        assert weights is not None
        put(self.model, weights)
        return self.model

    def tables(self) -> list[NDArray[np.float32]]:
        """The token table of every checkpoint, (V, d) each."""
        place = [name for name, _ in self.model.named_parameters()].index("token")
        return [weights[place].cpu().numpy() for weights in self.weights.values()]


def read(config: Config) -> FinishedRun:
    """Read the files of a finished run.

    Raises:
        UserError: a file is missing or damaged, or does not belong to the rest.
    """
    cfg, scale, seed = config.geometry, config.scale, config.seed
    on = _machine(config.compute)
    sources = list(config.sources)
    shards = {source: open_shard(paths.SHARDS / source, paths.TOKENIZER) for source in sources}
    training = state.new(scale, config.optimizer, len(sources), seed, on.device)
    beginning = _begin(training, config, shards)
    weights = {INITIAL: _copy(training.model)}
    digests, steps, between = [""], [0], list[Snapshot]()
    for name in REGIMES:
        between += _snapshots(name, training.model)
        file = paths.CHECKPOINTS / name / checkpoint.FILE
        checkpoint.load(file, training)
        weights[name] = _copy(training.model)
        digests.append(sha256(file))
        steps.append(training.step)
    control, digest = None, ""
    if cfg.control:
        control, digest = _control(_root() / cfg.control, training.model, training.step)
        put(training.model, weights[LAST])
    facts = Facts(
        scale=config.scale_name,
        seed=seed,
        sources=tuple(sources),
        priority=config.polish.priority,
        checkpoints=tuple(weights),
        end_steps=tuple(steps),
        sha256=tuple(digests),
        beginning=beginning,
        parameters=scale.parameters,
        vocabulary=scale.vocabulary,
        width=scale.d_model,
        heads=scale.n_heads,
        layers=scale.n_layers,
        context=scale.context,
    )
    return FinishedRun(
        cfg, scale, facts, shards, Tokenizer.load(paths.TOKENIZER), training, weights,
        tuple(between), control, digest, training.sampler.cursors, phases.read_regions(config),
    )  # fmt: skip


def _machine(cfg: Compute) -> machine.Machine:
    on = machine.prepare(Compute(cfg.device, "fp32", False, cfg.threads))
    if on.device == "mps":  # has no float64, in which means are taken
        return machine.prepare(Compute("cpu", "fp32", False, cfg.threads))
    return on


def _begin(
    training: TrainState,
    config: Config,
    shards: Mapping[str, Shard],
) -> str:
    """Give a new state the weights from which the run set out; says in words what they are."""
    scale, bounds = config.scale, config.bounds(REGIMES[0])
    if config.warmup.start:
        start.start_from(_root() / config.warmup.start, training, scale)
        return "an imported checkpoint"
    if scale.bigram_init == 0:
        return "noise"
    allowed = [
        shard.train for shard, cap in zip(shards.values(), bounds.upper, strict=True) if cap > 0
    ]
    bigram_init.apply(training.model, allowed, scale.bigram_init)
    return "bigram init"


def _snapshots(regime: str, model: GPT) -> list[Snapshot]:
    """What a regime has kept, each read once in whole; the model is left with the last."""
    names = tuple(name for name, _ in model.named_parameters())
    found = snapshots.listed(paths.CHECKPOINTS / regime / snapshots.FOLDER)
    return [Snapshot(regime, snapshots.read(path, model), path, names) for path in found.values()]


def _control(path: Path, model: GPT, step: int) -> tuple[list[Tensor], str]:
    """Weights of a control and the digest of its file; the model is left with them."""
    key = f"geometry.control: {path}"
    if not path.is_file():
        raise UserError(f"{key}: no such file; must be null or a checkpoint in data/imported")
    digest = sha256(path)
    if path.name != (right := start.name_of(digest)):
        raise UserError(f"{key}: not the content of that name, which belongs in {right}")
    note = checkpoint.read_note(path)
    ours = checkpoint.read_note(paths.CHECKPOINTS / LAST / checkpoint.FILE)
    found = note["state"].get("step")
    if found != step:
        raise UserError(f"{key}: stands at step {found!r:.40}, the run ended at {step}")
    scale = note["facts"].get("scale")
    for name in start.SHAPE:
        stored = scale.get(name) if isinstance(scale, dict) else None
        if stored != ours["facts"]["scale"][name]:
            raise UserError(
                f"{key}: made for {name} {stored!r:.40}, the run has {ours['facts']['scale'][name]}"
            )
    if note["facts"].get("tokenizer") != ours["facts"]["tokenizer"]:
        raise UserError(f"{key}: made with another tokenizer, so that losses do not compare")
    checkpoint.load_weights(path, model)
    return _copy(model), digest


def _copy(model: GPT) -> list[Tensor]:
    return [weights.detach().clone() for weights in model.parameters()]


def _root() -> Path:
    """The repository, also for a run in a copy of it."""
    return Path(os.environ.get("DVC_ROOT", "."))
