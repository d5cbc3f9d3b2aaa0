"""A progress bar on a terminal, and a line now and then where there is none."""

from __future__ import annotations

import sys
import time

from tqdm import tqdm

LINE_SECONDS = 10.0


def say(line: str) -> None:
    """Print a line on standard output."""
    print(line)


def warn(line: str) -> None:
    """Print a line on standard error, above the bar where there is one."""
    tqdm.write(line, file=sys.stderr)


class Progress:
    """Counts from `done` to `total`; use as a context manager."""

    def __init__(self, name: str, total: int, done: int = 0) -> None:
        self._name, self._total, self._first, self._done = name, total, done, done
        self._started = self._shown = time.monotonic()
        self._bar = tqdm(
            desc=name, total=total, initial=done, unit="step", disable=not sys.stderr.isatty()
        )

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *raised: object) -> None:
        self._bar.close()

    def advance(self, note: str) -> None:
        """Count one more, and show `note` beside it."""
        self._done += 1
        if not self._bar.disable:
            self._bar.set_postfix_str(note, refresh=False)
            self._bar.update()
            return
        now = time.monotonic()
        if now - self._shown >= LINE_SECONDS or self._done == self._total:
            self._shown = now
            pace = (now - self._started) / (self._done - self._first)
            left = tqdm.format_interval(pace * (self._total - self._done))
            line = f"{self._name}: {self._done}/{self._total}  {note}  {left} left"
            print(line, file=sys.stderr, flush=True)
