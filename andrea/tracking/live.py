"""Curves that grow while a regime trains."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

from andrea.tracking import content, store
from andrea.tracking.content import Point
from andrea.tracking.identity import identify, settings_of
from andrea.tracking.replay import stamp_path

SEND_SECONDS = 5.0
RETRY_SECONDS = 60.0
EXIT_SECONDS = 20.0


class Tracker:
    """Takes rows from the training thread and never makes it wait."""

    def __init__(self, regime: str) -> None:
        self._regime = regime
        self._queue: SimpleQueue[list[Point]] = SimpleQueue()

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Show `values` (column -> value) at `step`.

        They are a row of `history.csv`, always with `loss`, and figures of the clock, which no file
        may hold.
        """
        self._queue.put(content.row(self._regime, step, values, store.milliseconds()))

    def drain(self) -> Iterator[list[Point]]:
        """The rows since the last call."""
        while not self._queue.empty():
            yield self._queue.get()


@contextmanager
def live(params: Mapping[str, Any], regime: str) -> Iterator[Tracker]:
    """Show the regime's curves in MLflow while the block runs.

    The run becomes FAILED when the block raises; else it stays RUNNING for the stages that follow.
    Whatever is wrong with the store gives one warning, another try each minute, and at the end
    `EXIT_SECONDS` of patience: `track` fills the gaps from files.

    Args:
        params: all of `params.yaml`.
        regime: prefix of the keys.
    """
    tracker = Tracker(regime)
    sender = _Sender(params, regime, tracker)
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

    def __init__(self, params: Mapping[str, Any], regime: str, tracker: Tracker) -> None:
        super().__init__(name="mlflow", daemon=True)
        self.failed = False
        self._params = params
        self._loss = f"{regime}/loss"
        self._tracker = tracker
        self._ended = threading.Event()
        self._warned = False
        self._run: store.Run | None = None
        self._sent: set[int] = set()
        self._rows: list[list[Point]] = []

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
        # A regime that resumes repeats the steps since its last save. Rows that are sent twice
        # because an answer got lost do no harm: MLflow keeps equal points of equal time once.
        rows = [row for row in self._rows if row and row[0].step not in self._sent]
        self._run.add_rows(rows)
        self._sent.update(row[0].step for row in rows)
        self._rows.clear()

    def _open(self) -> store.Run:
        identity = identify(self._params)
        stamp_path(identity.key).unlink(missing_ok=True)
        run = store.open_run(
            identity, self._params["track"]["experiment"], content.tags(self._params)
        )
        run.resume()
        run.set_params(settings_of(self._params))
        self._sent = run.steps(self._loss)
        return run

    def _warn(self, error: Exception | str) -> None:
        if not self._warned:
            self._warned = True
            store.warn(error)
