"""The watch beside a run: every step's losses, and now and then a sample and the probes.

It reads the network and has random streams of its own: watched or not, a run has the same weights.
Only a source that an alarm excludes changes what is trained.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
from andrea.training.loop import present_region, read_probe
from andrea.training.records import StepStats
from andrea.training.run import Run
from andrea.training.state import TrainState
from andrea.watching import cliff, coherence, original, repeats
from andrea.watching.alarms import describe
from andrea.watching.cliff import CliffState, Drop
from andrea.watching.recorded import Record, Recorded

TEXT_TOKENS = 128  # of a sequence that an alarm shows

Ids = NDArray[np.int64]


class HaltError(UserError):
    """An alarm stops the run."""


@dataclass(frozen=True)
class Watcher:
    """What the watch works with; the same over a regime."""

    cfg: Watch  # what is looked at, and what an alarm does
    on_degenerate: str  # `halt`, or `report`
    shards: Sequence[str]  # file of each source's training tokens, (k,)
    prompts: Sequence[Ids]  # as ids, each beginning with BOS
    words: frozenset[str]  # that count as English for the original's score
    decode: Callable[[Sequence[int]], str]
    separator: int  # id that every document begins with


@dataclass
class WatchState:
    """What the watch remembers and has recorded."""

    cliffs: CliffState  # history of losses, gradient norms and gaps
    degenerate: int = 0  # samples in a row, up to now
    outliers: int = 0  # gradient norms since the last reading that were far above their median
    largest_z: float | None = None  # of the gradient norms since the last reading
    alarms: list[Record] = field(default_factory=list)  # of this regime
    samples: list[Record] = field(default_factory=list)  # of this regime
    readings: list[Record] = field(default_factory=list)  # of the probes in this regime

    def next_regime(self) -> WatchState:
        """What the following regime goes on with."""
        return WatchState(self.cliffs, self.degenerate, self.outliers, self.largest_z)

    def recorded(self) -> Recorded:
        """Of this regime, up to now."""
        return Recorded(self.readings, self.alarms, self.samples)

    def latest(self) -> Record:
        """What `andrea health` shows of it."""
        return {**self.recorded().latest(), "degenerate_in_a_row": self.degenerate}


def init(k: int) -> WatchState:
    """The state of k sources of which nothing is known."""
    return WatchState(cliff.init(k))


def look(
    state: WatchState, watcher: Watcher, stats: StepStats, training: TrainState, run: Run
) -> list[Record]:
    """Look at what a step did, and act on it.

    Args:
        state: changed in place.
        training: after the step; a source may be excluded from its next phase on.

    Returns:
        The alarms of this step: `step`, `kind`, `source`, `action` and what led to it.

    Raises:
        HaltError: an alarm of this step stops the run; `state` holds it.
    """
    cfg, before = watcher.cfg, len(state.alarms)
    state.cliffs, drops, z = cliff.observe(
        state.cliffs, stats.plan.source, stats.row_nats, stats.grad_norm, cfg.cliff_ratio
    )
    if z is not None:
        state.largest_z = z if state.largest_z is None else max(z, state.largest_z)
        state.outliers += z > cliff.NORM_Z
    if stats.skipped:
        state.alarms.append(_alarm(stats.step, "skipped", action="weights left as they were"))
    for drop in drops:
        _judge(state, watcher, drop, stats, training, run)
    if (stats.step + 1) % cfg.sample_every == 0:
        _read_probes(state, stats.step, training, run)
        _sample(state, watcher, stats.step, training, run)
    new = state.alarms[before:]
    for alarm in new:
        if alarm["action"] == "halt":
            raise HaltError(describe(alarm))
    return new


def _judge(
    state: WatchState, watcher: Watcher, drop: Drop, stats: StepStats, training: TrainState,
    run: Run,
) -> None:  # fmt: skip
    """Take a drop for learning, or for a cliff and act."""
    source = drop.source
    (tokens,), _ = batches.fetch(
        [run.train[source]], np.zeros(1, int), stats.plan.position[[drop.row]], run.scale.context
    )
    copies = repeats.find(tokens.numpy().astype(np.uint16), run.train[source], watcher.separator)
    held_out: float | None = None

    def read() -> float | None:
        nonlocal held_out
        nats = probe.read(training.model, run, np.arange(len(run.probe)) == source).nats[source]
        held_out = float(nats) if math.isfinite(nats) else None
        return held_out

    # Reading costs forward passes, so the probe is read only where the text recurs, and with the
    # weights as they are now: the last reading may lie a hundred steps back.
    if not cliff.confirmed(drop, copies, read):
        state.cliffs = cliff.accept(state.cliffs, drop)
        return
    beside = stats.plan.position[stats.plan.source == source].tolist()
    own = int(stats.plan.position[drop.row])
    action: str = watcher.cfg.on_cliff
    if action == "exclude":
        action = _exclude(training, run, source)
    state.alarms.append(
        _alarm(
            stats.step, "cliff", run.sources[source], action,
            shard=watcher.shards[source],
            positions=[own, *(place for place in beside if place != own)],
            nats=drop.nats, median=drop.median, z=drop.z, drop=drop.drop, probe_nats=held_out,
            repeats=copies.documents, text=watcher.decode(tokens[:TEXT_TOKENS].tolist()),
        )
    )  # fmt: skip


def _exclude(training: TrainState, run: Run, source: int) -> str:
    if source in training.excluded:
        return "exclude"
    try:
        without(run.region, (*training.excluded, source))
    except ValueError:
        return "report: without it the caps leave no mixture"
    training.excluded = (*training.excluded, source)
    return "exclude"


def _read_probes(state: WatchState, step: int, training: TrainState, run: Run) -> None:
    """Put smoothed losses, probes and gaps down, and tell which gap has grown."""
    reading = read_probe(training, run).nats
    state.cliffs, grown = cliff.observe_probe(state.cliffs, reading)
    row: Record = {"step": step, "gradient_outliers": state.outliers, "gradient_z": state.largest_z}
    active = present_region(training, run).active
    for name, there, smoothed, held_out in zip(
        run.sources, active, state.cliffs.smoothed, reading.tolist(), strict=True
    ):
        known = there and smoothed is not None and math.isfinite(held_out)
        row[f"smoothed.{name}"] = smoothed
        row[f"probe.{name}"] = held_out if math.isfinite(held_out) else None
        row[f"gap.{name}"] = held_out - smoothed if known and smoothed is not None else None
    state.readings.append(row)
    state.outliers, state.largest_z = 0, None
    for source in grown:
        name = run.sources[source]
        state.alarms.append(_alarm(step, "gap", name, "report", drop=row[f"gap.{name}"]))


def _sample(state: WatchState, watcher: Watcher, step: int, training: TrainState, run: Run) -> None:
    """Let the network write, and judge it; young networks are not counted."""
    cfg = watcher.cfg
    with run.machine.autocast():
        written = generate(
            training.model, watcher.prompts, cfg.sample_tokens, cfg.sample_temperature,
            cfg.sample_top_k, (run.seed, Purpose.WATCH_SAMPLE, step),
        )  # fmt: skip
    for prompt, ids in zip(watcher.prompts, written, strict=True):
        text = watcher.decode(ids.tolist())
        bad = coherence.degenerate(text)
        state.samples.append(
            {
                "step": step,
                "prompt": watcher.decode(prompt[1:].tolist()),
                "text": text,
                "score": coherence.score(text),
                "degenerate": bad,
                "original_score": original.original_score(text, watcher.words).total,
            }
        )
        if run.index == 0:
            continue
        state.degenerate = state.degenerate + 1 if bad else 0
        if state.degenerate and state.degenerate % cfg.degenerate_in_a_row == 0:
            count, action = state.degenerate, watcher.on_degenerate
            state.alarms.append(_alarm(step, "degenerate", action=action, text=text, count=count))


def _alarm(step: int, kind: str, source: str = "", action: str = "report", **more: Any) -> Record:
    return {"step": step, "kind": kind, "source": source, "action": action, "text": "", **more}
