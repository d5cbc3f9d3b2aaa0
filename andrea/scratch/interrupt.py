"""What may stop a run from outside: signals, and the death of whoever started it."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from types import FrameType

ORPHANED = signal.SIGHUP


class Interrupt:
    """Notes signals, so that the loop can act between two steps; use as a context manager.

    SIGTERM and the first Ctrl-C ask to stop, SIGUSR1 asks for a checkpoint, a second Ctrl-C kills.
    A closed terminal (SIGHUP, unless `nohup` has it ignored) asks to stop too. When whoever started
    the run is gone, nobody sees it any more: that counts as `ORPHANED`.
    """

    def __init__(self) -> None:
        self._starters = starters()
        self._orphaned = "DVC_STAGE" in os.environ and born_orphaned(self._starters)
        self._stop: int | None = None
        self._save = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> Interrupt:
        for number, act in (
            (signal.SIGTERM, self._ask_to_stop),
            (signal.SIGINT, self._ask_to_stop),
            (signal.SIGHUP, self._ask_to_stop),
            (signal.SIGUSR1, self._ask_to_save),
        ):
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, act)
        return self

    def __exit__(self, *raised: object) -> None:
        for number, act in self._before.items():
            signal.signal(number, act)  # type: ignore[arg-type]

    def stop(self) -> int | None:
        """Number of the signal that asked to stop, if one did."""
        if self._stop is None and (self._orphaned or not there(self._starters)):
            self._stop = ORPHANED
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


def starters() -> list[int]:
    """The parent; and where that is a shell with one command (`sh -c`), also who started it.

    DVC runs a stage through such a shell, and not every shell makes way for its last command.
    """
    processes = [os.getppid()]
    while processes[-1] > 1:
        parent, command = process(processes[-1])
        if not (command and Path(command[0]).name.endswith("sh") and "-c" in command):
            break
        processes.append(parent)
    return processes


def there(started_by: list[int]) -> bool:
    """Whether all of `starters()` still live."""
    return os.getppid() == started_by[0] and all(map(_lives, started_by[1:]))


def born_orphaned(started_by: list[int]) -> bool:
    """Whether DVC, which started this process, was gone before it looked.

    Its children then belong to process 1, which only in a container may be DVC itself.
    """
    return started_by[-1] == 1 and not any("dvc" in word for word in process(1)[1])


def process(number: int) -> tuple[int, list[str]]:
    """Parent and command line of a process; (0, []) where the system does not tell."""
    folder = Path("/proc") / str(number)
    try:
        if folder.is_dir():
            # The name in parentheses may itself hold spaces and parentheses.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            words = (folder / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            return int(fields[1]), [os.fsdecode(word) for word in words]
        printed = subprocess.run(
            ["ps", "-o", "ppid=,command=", "-p", str(number)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        parent, *command = printed.stdout.split()
        return int(parent), command
    except (OSError, ValueError, subprocess.CalledProcessError):
        return 0, []


def _lives(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
