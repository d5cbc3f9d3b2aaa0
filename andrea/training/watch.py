"""The watch beside a run: every step's losses, and now and then a sample and the probes.

It reads the network and has random streams of its own: watched or not, a run has the same weights.
Only a source that an alarm excludes changes what is trained.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from andrea.common.errors import UserError
from andrea.common.seeds import Purpose
from andrea.config.training import Watch
from andrea.mixture.simplex import without
from andrea.model.generate import generate
from andrea.training import batches, probe
from andrea.training.loop import Data, Regime, Settings, present_region, read_probe
from andrea.training.records import StepStats
from andrea.training.state import TrainState
from andrea.watching import cliff, coherence, original, repeats
from andrea.watching.alarms import describe
from andrea.watching.cliff import CliffState, Drop

TEXT_TOKENS = 128  # of a sequence that an alarm shows

Record = dict[str, Any]
Ids = NDArray[np.int64]


class HaltError(UserError):
    """An alarm stops the run."""


@dataclass(frozen=True)
class Eyes:
    """What the watch looks with; the same over a run.

    Attributes:
        cfg: what is looked at, and what an alarm does.
        on_degenerate: `halt`, or `report`.
        sources: names, (k,).
        shards: file of each source's training tokens, (k,).
        prompts: as ids, each beginning with BOS.
        words: that count as English for the original's score.
        decode: ids to text.
        separator: id that every document begins with.
    """

    cfg: Watch
    on_degenerate: str
    sources: Sequence[str]
    shards: Sequence[str]
    prompts: Sequence[Ids]
    words: frozenset[str]
    decode: Callable[[Sequence[int]], str]
    separator: int


@dataclass
class WatchState:
    """What was seen so far.

    Attributes:
        cliffs: history of losses, gradient norms and gaps.
        degenerate: samples in a row, up to now.
        outliers: gradient norms since the last reading that were far above their median.
        largest_z: of the gradient norms since the last reading.
        alarms: told so far in this regime.
        samples: of this regime.
        readings: of the probes in this regime.
    """

    cliffs: CliffState
    degenerate: int = 0
    outliers: int = 0
    largest_z: float | None = None
    alarms: list[Record] = field(default_factory=list)
    samples: list[Record] = field(default_factory=list)
    readings: list[Record] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, exact."""
        return {**vars(self), "cliffs": self.cliffs.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> WatchState:
        """The state that `to_json` wrote."""
        return cls(**{**value, "cliffs": CliffState.from_json(value["cliffs"])})

    def next_regime(self) -> WatchState:
        """What the following regime goes on with."""
        return WatchState(self.cliffs, self.degenerate, self.outliers, self.largest_z)


def init(k: int) -> WatchState:
    """The state of k sources of which nothing was seen."""
    return WatchState(cliff.init(k))


def look(
    state: WatchState,
    eyes: Eyes,
    stats: StepStats,
    training: TrainState,
    regime: Regime,
    data: Data,
    settings: Settings,
) -> list[Record]:
    """Look at what a step did, and act on what is seen.

    Args:
        state: changed in place.
        eyes: what to look with.
        stats: of the step.
        training: after the step; a source may be excluded from its next phase on.
        regime: under way.
        data: token streams.
        settings: of the run.

    Returns:
        The alarms of this step: `step`, `kind`, `source`, `action` and what led to it.

    Raises:
        HaltError: an alarm of this step stops the run; `state` holds it.
    """
    cfg, told = eyes.cfg, len(state.alarms)
    state.cliffs, drops, z = cliff.observe(
        state.cliffs, stats.plan.source, stats.row_nats, stats.gradient_norm, cfg.cliff_ratio
    )
    if z is not None:
        state.largest_z = z if state.largest_z is None else max(z, state.largest_z)
        state.outliers += z > cliff.NORM_Z
    if stats.skipped:
        state.alarms.append(_alarm(stats.step, "skipped", action="weights left as they were"))
    for drop in drops:
        _judge(state, eyes, drop, stats, training, regime, data, settings)
    if (stats.step + 1) % cfg.sample_every == 0:
        _read(state, eyes, stats.step, training, regime, data, settings)
        _sample(state, eyes, stats.step, training, regime, settings)
    new = state.alarms[told:]
    for alarm in new:
        if alarm["action"] == "halt":
            raise HaltError(describe(alarm))
    return new


def _judge(
    state: WatchState,
    eyes: Eyes,
    drop: Drop,
    stats: StepStats,
    training: TrainState,
    regime: Regime,
    data: Data,
    settings: Settings,
) -> None:
    """Take a drop for learning, or for a cliff and act."""
    source = drop.source
    (tokens,), _ = batches.fetch(
        [data.train[source]],
        np.zeros(1, int),
        stats.plan.position[[drop.row]],
        settings.scale.context,
    )
    found = repeats.find(tokens.numpy().astype(np.uint16), data.train[source], eyes.separator)
    held_out: float | None = None

    def read() -> float | None:
        nonlocal held_out
        only = np.arange(len(data.probe)) == source
        nats = probe.read(
            training.model,
            data.probe,
            only,
            settings.bandit.probe_rows,
            settings.scale.micro_batch,
            data.byte_lengths,
            settings.machine,
        ).nats[source]
        held_out = float(nats) if math.isfinite(nats) else None
        return held_out

    if not cliff.confirmed(drop, found, read):
        state.cliffs = cliff.accept(state.cliffs, drop)
        return
    beside = stats.plan.position[stats.plan.source == source].tolist()
    own = int(stats.plan.position[drop.row])
    action: str = eyes.cfg.on_cliff
    if action == "exclude":
        action = _exclude(training, regime, source)
    state.alarms.append(
        _alarm(
            stats.step, "cliff", eyes.sources[source], action,
            shard=eyes.shards[source],
            positions=[own, *(place for place in beside if place != own)],
            nats=drop.nats, median=drop.median, z=drop.z, drop=drop.drop, probe_nats=held_out,
            repeats=found.documents, text=eyes.decode(tokens[:TEXT_TOKENS].tolist()),
        )
    )  # fmt: skip


def _exclude(training: TrainState, regime: Regime, source: int) -> str:
    if source in training.excluded:
        return "exclude"
    try:
        without(regime.region, (*training.excluded, source))
    except ValueError:
        return "report: without it the caps leave no mixture"
    training.excluded = (*training.excluded, source)
    return "exclude"


def _read(
    state: WatchState,
    eyes: Eyes,
    step: int,
    training: TrainState,
    regime: Regime,
    data: Data,
    settings: Settings,
) -> None:
    """Put smoothed losses, probes and gaps down, and tell which gap has grown."""
    reading = read_probe(training, regime, data, settings).nats
    state.cliffs, grown = cliff.observe_probe(state.cliffs, reading)
    row: Record = {
        "step": step,
        "gradient_outliers": state.outliers,
        "gradient_z": state.largest_z,
    }
    active = present_region(training, regime).active
    for name, there, smoothed, held_out in zip(
        eyes.sources, active, state.cliffs.smoothed, reading.tolist(), strict=True
    ):
        known = there and smoothed is not None and math.isfinite(held_out)
        row[f"smoothed.{name}"] = smoothed
        row[f"probe.{name}"] = held_out if math.isfinite(held_out) else None
        row[f"gap.{name}"] = held_out - smoothed if known and smoothed is not None else None
    state.readings.append(row)
    state.outliers, state.largest_z = 0, None
    for source in grown:
        name = eyes.sources[source]
        state.alarms.append(_alarm(step, "gap", name, "report", drop=row[f"gap.{name}"]))


def _sample(
    state: WatchState,
    eyes: Eyes,
    step: int,
    training: TrainState,
    regime: Regime,
    settings: Settings,
) -> None:
    """Let the network write, and judge it; young networks are not counted."""
    cfg = eyes.cfg
    with settings.machine.autocast():
        written = generate(
            training.model, eyes.prompts, cfg.sample_tokens, cfg.sample_temperature,
            cfg.sample_top_k, (settings.seed, Purpose.WATCH_SAMPLE, step),
        )  # fmt: skip
    for prompt, ids in zip(eyes.prompts, written, strict=True):
        text = eyes.decode(ids.tolist())
        bad = coherence.degenerate(text)
        state.samples.append(
            {
                "step": step,
                "prompt": eyes.decode(prompt[1:].tolist()),
                "text": text,
                "score": coherence.score(text),
                "degenerate": bad,
                "original_score": original.original_score(text, eyes.words).total,
            }
        )
        if regime.index == 0:
            continue
        state.degenerate = state.degenerate + 1 if bad else 0
        if state.degenerate and state.degenerate % cfg.degenerate_in_a_row == 0:
            state.alarms.append(
                _alarm(
                    step, "degenerate", action=eyes.on_degenerate, text=text, count=state.degenerate
                )
            )


def _alarm(step: int, kind: str, source: str = "", action: str = "report", **more: Any) -> Record:
    return {"step": step, "kind": kind, "source": source, "action": action, "text": "", **more}
