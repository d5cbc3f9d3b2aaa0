"""What may stop a run from outside: signals, and the death of whoever started it."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType


class Interrupt:
    """Notes signals, so that the loop can act between two steps; use as a context manager.

    SIGTERM and the first Ctrl-C ask to stop, SIGUSR1 asks for a checkpoint, a second Ctrl-C kills.
    When the parent process is gone, nobody sees the run any more: that counts as SIGTERM.
    """

    def __init__(self) -> None:
        self._parent = os.getppid()
        self._stop: int | None = None
        self._save = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> Interrupt:
        for number, act in (
            (signal.SIGTERM, self._ask_to_stop),
            (signal.SIGINT, self._ask_to_stop),
            (signal.SIGUSR1, self._ask_to_save),
        ):
            self._before[number] = signal.signal(number, act)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for number, act in self._before.items():
            signal.signal(number, act)  # type: ignore[arg-type]

    def stop(self) -> int | None:
        """Number of the signal that asked to stop, if one did."""
        if self._stop is None and os.getppid() != self._parent:
            self._stop = signal.SIGHUP
        return self._stop

    def save(self) -> bool:
        """Whether a checkpoint was asked for since the last call."""
        asked, self._save = self._save, False
        return asked

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        if self._stop == number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        self._stop = number

    def _ask_to_save(self, number: int, frame: FrameType | None) -> None:
        self._save = True
