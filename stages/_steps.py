"""The steps of a regime: trained, watched, saved now and then, and shown as they go."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from andrea.common.errors import UserError
from andrea.common.files import write_json
from andrea.config.tree import Config
from andrea.mixture.volume import log10_share
from andrea.scratch import resume
from andrea.scratch.folder import Scratch, checkpoints
from andrea.scratch.interrupt import ORPHANED, Interrupt
from andrea.shell.progress import Progress
from andrea.tokens.tokenizer import Tokenizer
from andrea.tracking.live import Tracker, live
from andrea.training import batches, machine, watch
from andrea.training import watch_tables as watch_report
from andrea.training.history import Window, plain
from andrea.training.journal import Journal
from andrea.training.loop import (
    Data,
    DivergedError,
    Regime,
    Settings,
    present_region,
    run_regime,
)
from andrea.training.records import StepStats
from andrea.training.snapshots import Snapshots
from andrea.training.state import TrainState
from andrea.training.watch import Eyes
from andrea.watching.alarms import describe
from andrea.watching.recorded import Recorded


@dataclass(frozen=True)
class Steps:
    """What stays the same over the steps of a regime; `eyes` is None where nobody watches."""

    name: str
    config: Config
    sources: list[str]
    regime: Regime
    data: Data
    settings: Settings
    tokenizer: Tokenizer
    eyes: Eyes | None
    scratch: Scratch
    checkpoint_every: int
    snapshots: Snapshots


def run_steps(steps: Steps, training: TrainState, journal: Journal) -> None:
    """Train to the regime's last step; `training` and `journal` change in place.

    Raises:
        UserError: an alarm, a loss that is not finite, or a lack of memory stopped the run.
        SystemExit: a signal did.
    """
    name, every = steps.name, steps.settings.scale.log_every
    since = time.monotonic()
    progress = Progress(name, steps.regime.end_step, training.step)
    with (
        _told(steps, training),
        live(steps.config, name) as tracker,
        progress,
        Interrupt() as asked,
    ):
        for row in journal.rows:  # of what was interrupted, the last may not have been shown
            tracker.log(int(row["step"]), row)
        if steps.eyes is not None:
            tracker.saw(_seen(journal), 0)
        for stats in run_regime(training, steps.regime, steps.data, steps.settings):
            journal.window = journal.window.add(stats)
            if stats.finished is not None:
                journal.phases.append(stats.finished)
            pace = (
                journal.window.steps * steps.settings.scale.step_tokens / (time.monotonic() - since)
            )
            steps.snapshots.take(training)
            _watch(steps, stats, training, journal, tracker)
            last = training.step == steps.regime.end_step
            if journal.window.steps == every or last:
                share = log10_share(present_region(training, steps.regime))[0]
                journal.rows.append(journal.window.row(stats, steps.sources, share))
                tracker.log(stats.step, {**journal.rows[-1], "tokens_per_second": pace})
                journal.window, since = Window.empty(len(steps.sources)), time.monotonic()
                _show(steps, training, journal, pace)
            stop = asked.stop()
            if asked.save() or stop or last or training.step % steps.checkpoint_every == 0:
                saved = _save(steps, training, journal)
            if stop and not last:
                what = (
                    "the end of its parent or terminal"
                    if stop == ORPHANED
                    else signal.Signals(stop).name
                )
                print(
                    f"{name}: stopped by {what} after {training.step} steps; the same command goes"
                    f" on from {saved or 'its beginning'}",
                    file=sys.stderr,
                )
                sys.exit(128 + stop)
            progress.advance(f"loss {stats.loss:.3f} nats  {pace:,.0f} tokens/s")


def _watch(
    steps: Steps, stats: StepStats, training: TrainState, journal: Journal, tracker: Tracker
) -> None:
    if steps.eyes is None:
        return
    before = len(journal.watch.alarms), len(journal.watch.readings)
    try:
        alarms = watch.look(
            journal.watch, steps.eyes, stats, training, steps.regime, steps.data, steps.settings
        )
    except watch.HaltError as error:
        sound = steps.scratch.folder / journal.sound if journal.sound else "none yet"
        _show(steps, training, journal, None)
        raise UserError(
            f"{error}; the last sound checkpoint is {sound};"
            " `watch.on_cliff=report` and `watch.on_degenerate=report` train on"
        ) from error
    finally:
        if before != (len(journal.watch.alarms), len(journal.watch.readings)):
            tracker.saw(_seen(journal), stats.step)
    told = {(alarm["kind"], alarm["source"]) for alarm in journal.watch.alarms[: before[0]]}
    for alarm in alarms:
        if (alarm["kind"], alarm["source"]) not in told:  # the rest is in alarms.csv
            tqdm.write(f"alarm: {describe(alarm)}", file=sys.stderr)


def _seen(journal: Journal) -> Recorded:
    return Recorded(journal.watch.readings, journal.watch.alarms, journal.watch.samples)


def _save(steps: Steps, training: TrainState, journal: Journal) -> Path | None:
    """Save, or warn; the name of the newest checkpoint."""
    kept = steps.scratch.folder / journal.sound if journal.sound else None
    try:
        steps.snapshots.put_down()
        path = resume.save(steps.scratch, training, journal.to_json(), kept)
    except OSError as error:
        newest = checkpoints(steps.scratch.folder)[-1:]
        tqdm.write(
            f"warning: no checkpoint at step {training.step}: {error}; the newest is"
            f" {newest[0] if newest else 'none yet'}; make room on the disk, training goes on",
            file=sys.stderr,
        )
        return newest[0] if newest else None
    if journal.watch.degenerate == 0:
        journal.sound = path.name
    return path


def _show(steps: Steps, training: TrainState, journal: Journal, pace: float | None) -> None:
    """Put down what `andrea health` tells of a run under way."""
    status = {
        "regime": steps.name,
        "step": training.step,
        "end_step": steps.regime.end_step,
        "steps": steps.settings.scale.steps,
        "tokens": training.tokens,
        "tokens_per_second": pace,
        "step_tokens": steps.settings.scale.step_tokens,
        "row": plain(journal.rows[-1]) if journal.rows else {},
        "excluded": [steps.sources[source] for source in training.excluded],
        "skipped": training.skipped,
        "watch": watch_report.latest(journal.watch),
        "process": os.getpid(),
        "time": time.time(),
    }
    try:
        steps.scratch.show(status)
    except OSError as error:
        tqdm.write(f"warning: {steps.scratch.folder}: no status written: {error}", file=sys.stderr)


@contextmanager
def _told(steps: Steps, training: TrainState) -> Iterator[None]:
    """What may go wrong in a step, as one line that says what to do."""
    try:
        yield
    except DivergedError as error:
        path = steps.scratch.folder / f"batch-step-{training.step}.json"
        try:
            write_json(path, _batch(steps, error))
        except OSError as full:
            raise UserError(f"{error}; its batch could not be saved: {full}") from error
        raise UserError(f"{error}; the batch is in {path}") from error
    except (RuntimeError, MemoryError) as error:
        if not machine.out_of_memory(error):
            raise
        raise UserError(
            f"step {training.step}: out of memory on {steps.settings.machine.device}; lower"
            " scales.*.micro_batch and raise scales.*.grad_accumulation by the same factor"
        ) from error


def _batch(steps: Steps, error: DivergedError) -> list[dict[str, Any]]:
    """Sources, positions and text of a batch."""
    inputs, _ = batches.fetch(
        steps.data.train, error.plan.source, error.plan.position, steps.settings.scale.context
    )
    return [
        {
            "source": steps.sources[source],
            "position": position,
            "epoch": epoch,
            "text": steps.tokenizer.decode(tokens),
        }
        for source, position, epoch, tokens in zip(
            error.plan.source.tolist(),
            error.plan.position.tolist(),
            error.plan.epoch.tolist(),
            inputs.tolist(),
            strict=True,
        )
    ]
