"""Folders for what a regime that is not finished can go on from.

A folder per set of inputs, `<root>/<stage>/<key>`, holds `inputs.json`, checkpoints
(`andrea/scratch/resume.py`), a lock, and `status.json` for whoever looks. When the regime is done
its last checkpoint stays until the next stage has read what came of it: a kill between two stages
costs no work either.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from andrea.common import paths
from andrea.common.errors import UserError
from andrea.common.files import read_json, sha256, whole_file, write_json

Inputs = Mapping[str, Any]

ROOT = Path(".scratch")
KEY_DIGITS = 16  # of the SHA-256 of the inputs, in hex
LEFT_OVER = ("*.part", ".tmp*")  # of a killed process; safetensors writes to a .tmp file first
INPUTS, LOCK, FINISHED, STATUS = "inputs.json", "lock", "finished.json", "status.json"


@dataclass(frozen=True)
class Scratch:
    """One folder, held under its lock."""

    folder: Path  # `<root>/<stage>/<key>`
    inputs: Inputs  # all that decides the bytes of the result, dotted names to plain JSON values

    def finish(self, result: Path) -> None:
        """Note that `result`, the regime's checkpoint, is written.

        Raises:
            OSError: the note cannot be written.
        """
        _put(self.folder / FINISHED, {"sha256": sha256(result)})

    def show(self, status: Mapping[str, Any]) -> None:
        """Put down where the run stands.

        Raises:
            OSError: it cannot be written.
        """
        _put(self.folder / STATUS, status)


def root() -> Path:
    """Where scratch stands: in the main repository, also for a run in a copy of it."""
    return paths.repository() / ROOT


@contextmanager
def hold(root: Path, stage: str, inputs: Inputs) -> Iterator[Scratch]:
    """The scratch folder of these inputs, made if it is not there.

    Raises:
        UserError: another process holds it, or it cannot be written.
    """
    text = json.dumps(inputs, sort_keys=True, allow_nan=False)
    folder = root / stage / hashlib.sha256(text.encode()).hexdigest()[:KEY_DIGITS]
    with ExitStack() as opened:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = opened.enter_context((folder / LOCK).open("a+"))
            _lock(lock, folder, stage)
            for pattern in LEFT_OVER:
                for part in folder.rglob(pattern):
                    part.unlink()
            if _read(folder / INPUTS) != json.loads(text):
                _put(folder / INPUTS, inputs)
        except OSError as error:
            raise UserError(
                f"{folder}: no place for checkpoints: {error}; a run needs one to go on from"
            ) from error
        try:
            yield Scratch(folder, inputs)
        except BaseException:
            if {path.name for path in folder.iterdir()} <= {INPUTS, LOCK}:  # nothing was begun
                shutil.rmtree(folder, ignore_errors=True)
            raise


def others(scratch: Scratch) -> dict[Path, list[str]]:
    """Unfinished scratch of the same stage under other inputs, and what differs there."""
    unfinished = {}
    for folder in sorted(scratch.folder.parent.iterdir()):
        left = checkpoints(folder) and not (folder / FINISHED).exists()
        if folder != scratch.folder and left:
            inputs = _read(folder / INPUTS)
            unfinished[folder] = (
                [f"{INPUTS} cannot be read"]
                if inputs is None
                else differences(inputs, scratch.inputs)
            )
    return unfinished


def remove_settled(root: Path, stage: str, result: Path) -> None:
    """Remove the scratch of a finished `stage` whose checkpoint has arrived as `result`.

    What cannot be removed stays: it costs room alone.
    """
    finished = list((root / stage).glob(f"*/{FINISHED}"))
    if finished and result.exists():
        arrived = {"sha256": sha256(result)}
        for note in finished:
            with suppress(OSError):
                if _read(note) == arrived and holder(note.parent) is None:
                    # The note last: without it checkpoints look like unfinished work.
                    for path in checkpoints(note.parent):
                        path.unlink(missing_ok=True)
                    shutil.rmtree(note.parent)


def holder(folder: Path) -> int | None:
    """Process that holds a scratch folder now."""
    try:
        with (folder / LOCK).open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(lock.read() or 0)
    except FileNotFoundError:
        pass
    return None


def checkpoints(folder: Path) -> list[Path]:
    """Checkpoints in a scratch folder, oldest first."""
    return sorted(folder.glob("step-*.safetensors"))


def step_of(path: Path) -> int:
    """Steps done in a checkpoint, by its name."""
    return int(path.stem.split("-")[1])


def differences(before: Inputs, after: Inputs) -> list[str]:
    """`name: old, now new` for every input that differs; of lists, what left and what came."""
    return [
        f"{name}: {_change(before.get(name, 'absent'), after.get(name, 'absent'))}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def _change(old: Any, new: Any) -> str:
    if isinstance(old, list) and isinstance(new, list):
        gone, come = [x for x in old if x not in new], [x for x in new if x not in old]
        if not gone and not come:
            return "in another order"
        old, new = gone, come
    return f"{old!s:.80}, now {new!s:.80}"


def _lock(lock: TextIO, folder: Path, stage: str) -> None:
    """Take the lock for this process, or say who has it."""
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            process = holder(folder)
            if process is not None:  # else it was somebody who only looked
                raise UserError(
                    f"{folder}: process {process} trains {stage} from the same inputs already;"
                    " wait for it, or stop it with Ctrl-C or `kill`"
                ) from error
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()


def _put(path: Path, value: Any) -> None:
    with whole_file(path) as part:
        write_json(part, value)


def _read(path: Path) -> Any:
    """A JSON file; None where there is none, or none that is in order."""
    try:
        return read_json(path)
    except (OSError, ValueError):
        return None
