"""The steps of a regime: trained, watched, saved now and then, and shown as they go."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any

from andrea.common.codec import encode
from andrea.common.errors import UserError
from andrea.common.files import write_json
from andrea.mixture.sampler import Plan
from andrea.mixture.volume import log10_share
from andrea.scratch import resume
from andrea.scratch.folder import Scratch, checkpoints
from andrea.scratch.interrupt import ORPHANED, Interrupt
from andrea.shell.progress import Progress, warn
from andrea.training import batches, loop, machine, watch
from andrea.training import journal as journals
from andrea.training.history import Window
from andrea.training.journal import Journal
from andrea.training.records import StepStats
from andrea.training.run import Run
from andrea.training.snapshots import Snapshots
from andrea.training.state import TrainState
from andrea.training.tracker import Tracker
from andrea.training.watch import Watcher
from andrea.watching.alarms import describe


@dataclass(frozen=True)
class Session:
    """A regime under way; `state` and `journal` change in place."""

    run: Run
    state: TrainState  # where it stands
    journal: Journal  # what it has recorded
    watcher: Watcher | None  # None where nobody watches
    decode: Callable[[Sequence[int]], str]
    scratch: Scratch  # where it is saved
    checkpoint_every: int  # steps from one checkpoint to the next
    snapshots: Snapshots  # taken on the way
    tracker: AbstractContextManager[Tracker]  # entered for the time of the steps

    def run_on(self) -> None:
        """Train to the regime's last step.

        Raises:
            UserError: an alarm, a loss that is not finite, or a lack of memory stopped the run.
            SystemExit: a signal did.
        """
        run, state, journal = self.run, self.state, self.journal
        since = time.monotonic()
        progress = Progress(run.name, run.end_step, state.step)
        with self._explained(), self.tracker as tracker, progress, Interrupt() as asked:
            for row in journal.rows:  # of what was interrupted, the last may not have been shown
                tracker.log(int(row["step"]), row)
            if self.watcher is not None:
                tracker.log_watch(journal.watch.recorded(), 0)
            for stats in loop.run_regime(state, run):
                journal.window = journal.window.add(stats)
                if stats.finished is not None:
                    journal.phases.append(stats.finished)
                pace = journal.window.steps * run.scale.step_tokens / (time.monotonic() - since)
                self.snapshots.take(state)
                self._watch(stats, tracker)
                last = state.step == run.end_step
                if journal.window.steps == run.scale.log_every or last:
                    share = log10_share(loop.present_region(state, run))[0]
                    journal.rows.append(journal.window.row(stats, run.sources, share))
                    tracker.log(stats.step, {**journal.rows[-1], "tokens_per_second": pace})
                    journal.window, since = Window.empty(len(run.sources)), time.monotonic()
                    self._show(pace)
                # Only here, when the journal holds all of the step: a checkpoint in the midst of it
                # would lose a row, or write one twice.
                stop = asked.stop()
                if asked.save() or stop or last or state.step % self.checkpoint_every == 0:
                    newest = self._save()
                if stop and not last:
                    orphaned = stop == ORPHANED
                    cause = "the end of its parent or terminal" if orphaned else Signals(stop).name
                    warn(
                        f"{run.name}: stopped by {cause} after {state.step} steps; the same"
                        f" command goes on from {newest or 'its beginning'}"
                    )
                    sys.exit(128 + stop)
                progress.advance(f"loss {stats.loss:.3f} nats  {pace:,.0f} tokens/s")

    def _watch(self, stats: StepStats, tracker: Tracker) -> None:
        if self.watcher is None:
            return
        watched = self.journal.watch
        before = len(watched.alarms), len(watched.readings)
        try:
            alarms = watch.look(watched, self.watcher, stats, self.state, self.run)
        except watch.HaltError as error:
            sound = self.journal.sound
            self._show(None)
            raise UserError(
                f"{error}; the last sound checkpoint is"
                f" {self.scratch.folder / sound if sound else 'none yet'};"
                " `watch.on_cliff=report` and `limits.on_degenerate=report` train on"
            ) from error
        finally:
            if before != (len(watched.alarms), len(watched.readings)):
                tracker.log_watch(self.journal.watch.recorded(), stats.step)
        earlier = {(alarm["kind"], alarm["source"]) for alarm in watched.alarms[: before[0]]}
        for alarm in alarms:
            if (alarm["kind"], alarm["source"]) not in earlier:  # the rest is in alarms.csv
                warn(f"alarm: {describe(alarm)}")

    def _save(self) -> Path | None:
        """Save, or warn; the newest checkpoint."""
        state, journal = self.state, self.journal
        kept = self.scratch.folder / journal.sound if journal.sound else None
        try:
            # Snapshots first: whoever goes on from the checkpoint never takes these again.
            self.snapshots.put_down()
            path = resume.save(
                self.scratch,
                state.step,
                lambda part: journals.save(part, state, journal, self.scratch),
                kept,
            )
        except OSError as error:
            newest = checkpoints(self.scratch.folder)[-1:]
            warn(
                f"warning: no checkpoint at step {state.step}: {error}; the newest is"
                f" {newest[0] if newest else 'none yet'}; make room on the disk, training goes on"
            )
            return newest[0] if newest else None
        if journal.watch.degenerate == 0:
            journal.sound = path.name
        return path

    def _show(self, pace: float | None) -> None:
        """Put down what `andrea health` tells of a run under way."""
        run, state, journal = self.run, self.state, self.journal
        status = {
            "regime": run.name,
            "step": state.step,
            "end_step": run.end_step,
            "steps": run.scale.steps,
            "tokens": state.tokens,
            "tokens_per_second": pace,
            "step_tokens": run.scale.step_tokens,
            "row": encode(journal.rows[-1]) if journal.rows else {},
            "excluded": [run.sources[source] for source in state.excluded],
            "skipped": state.skipped,
            "watch": journal.watch.latest(),
            "process": os.getpid(),
            "time": time.time(),
        }
        try:
            self.scratch.show(status)
        except OSError as error:
            warn(f"warning: {self.scratch.folder}: no status written: {error}")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What may go wrong in a step, as one line that says what to do."""
        try:
            yield
        except loop.DivergedError as error:
            path = self.scratch.folder / f"batch-step-{self.state.step}.json"
            try:
                write_json(path, self._batch(error.plan))
            except OSError as full:
                raise UserError(f"{error}; its batch could not be saved: {full}") from error
            raise UserError(f"{error}; the batch is in {path}") from error
        except (RuntimeError, MemoryError) as error:
            if not machine.out_of_memory(error):
                raise
            raise UserError(
                f"step {self.state.step}: out of memory on {self.run.machine.device}; lower"
                " scales.*.micro_batch and raise scales.*.grad_accumulation by the same factor"
            ) from error

    def _batch(self, plan: Plan) -> list[dict[str, Any]]:
        """Sources, positions and text of a batch."""
        inputs, _ = batches.fetch(
            self.run.train, plan.source, plan.position, self.run.scale.context
        )
        columns = (plan.source.tolist(), plan.position.tolist(), plan.epoch.tolist())
        return [
            {
                "source": self.run.sources[source],
                "position": position,
                "epoch": epoch,
                "text": self.decode(tokens),
            }
            for source, position, epoch, tokens in zip(*columns, inputs.tolist(), strict=True)
        ]
