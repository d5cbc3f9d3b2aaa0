"""Curves that grow while a regime trains."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from queue import SimpleQueue

from andrea.common import paths
from andrea.config.training import REGIMES
from andrea.config.tree import Config
from andrea.tracking import content, store, watched
from andrea.tracking.content import Point
from andrea.tracking.identity import identify, settings_of
from andrea.tracking.replay import stamp_path
from andrea.watching import recorded
from andrea.watching.alarms import Alarm
from andrea.watching.recorded import Recorded

SEND_SECONDS = 5.0
RETRY_SECONDS = 60.0
EXIT_SECONDS = 20.0


class LiveTracker:
    """Takes rows from the training thread and never makes it wait.

    Attributes:
        alarms: of the regime, up to now; None before the watch has recorded anything.
    """

    def __init__(self, regime: str, apart: int) -> None:
        self.alarms: tuple[Alarm, ...] | None = None
        self._regime = regime
        self._apart = apart
        self._queue: SimpleQueue[list[Point]] = SimpleQueue()

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Show `values` (column -> value) at `step`.

        They are a row of the history, and values of the clock, which no file may hold. What the run
        shows already at `step` under the first of the columns is taken for the same row.
        """
        self._queue.put(content.row(self._regime, step, values, store.milliseconds()))

    def log_watch(self, recorded: Recorded, since: int) -> None:
        """Show what the watch of the regime has recorded from the step `since` on, and its tags."""
        for values in watched.rows(recorded, self._apart, since):
            self.log(int(values["step"]), values)
        self.alarms = tuple(recorded.alarms)

    def drain(self) -> Iterator[list[Point]]:
        """The rows since the last call."""
        while not self._queue.empty():
            yield self._queue.get()


@contextmanager
def live(config: Config, regime: str) -> Iterator[LiveTracker]:
    """Show the regime's curves in MLflow while the block runs.

    The run becomes FAILED when the block raises; else it stays RUNNING for the stages that follow.
    Whatever is wrong with the store gives one warning, another try each minute, and at the end
    `EXIT_SECONDS` of patience: `track` fills the gaps from files.

    Args:
        regime: prefix of the keys.
    """
    tracker = LiveTracker(regime, watched.steps_apart(config))
    sender = _Sender(config, regime, tracker)
    sender.start()
    try:
        yield tracker
    except BaseException:
        sender.failed = True
        raise
    finally:
        sender.finish()


class _Sender(threading.Thread):
    """Opens the run and sends rows. A daemon: a store that hangs must not hold the process."""

    def __init__(self, config: Config, regime: str, tracker: LiveTracker) -> None:
        super().__init__(name="mlflow", daemon=True)
        self.failed = False
        self._config = config
        self._before = REGIMES[: REGIMES.index(regime)]
        self._tracker = tracker
        self._ended = threading.Event()
        self._warned = False
        self._run: store.Run | None = None
        self._sent: dict[str, set[int]] = {}
        self._rows: list[list[Point]] = []
        self._tagged: tuple[Alarm, ...] | None = None

    def run(self) -> None:
        pause = 0.0
        ended = False
        while not ended:
            ended = self._ended.wait(pause)
            self._rows.extend(self._tracker.drain())
            try:
                self._send()
                if ended and self.failed and self._run is not None:
                    self._run.end("FAILED")
                pause = SEND_SECONDS
            except Exception as error:
                self._warn(error)
                pause = RETRY_SECONDS

    def finish(self) -> None:
        self._ended.set()
        self.join(EXIT_SECONDS)
        if self.is_alive():
            self._warn(f"no answer within {EXIT_SECONDS:g} s")

    def _send(self) -> None:
        if self._run is None:
            self._run = self._open()
        run = self._run
        # A regime that resumes repeats the steps since its last save. Rows that are sent twice
        # because an answer got lost do no harm: MLflow keeps equal points of equal time once.
        for key in {row[0].key for row in self._rows if row} - self._sent.keys():
            self._sent[key] = run.steps(key)
        rows = [row for row in self._rows if row and row[0].step not in self._sent[row[0].key]]
        run.add_rows(rows)
        for row in rows:
            self._sent[row[0].key].add(row[0].step)
        self._rows.clear()
        alarms = self._tracker.alarms
        if alarms is not None and alarms != self._tagged:
            earlier = (recorded.read(paths.REPORTS / name).alarms for name in self._before)
            run.set_tags(watched.tags([*chain.from_iterable(earlier), *alarms]))
            self._tagged = alarms

    def _open(self) -> store.Run:
        identity = identify(self._config)
        stamp_path(identity.key).unlink(missing_ok=True)
        run = store.open_run(identity, self._config.track.experiment, content.tags(self._config))
        run.resume()
        run.set_params(settings_of(self._config))
        return run

    def _warn(self, error: Exception | str) -> None:
        if not self._warned:
            self._warned = True
            store.warn(error)
