"""Folders for what a regime that is not finished can go on from.

A folder per set of inputs, `<root>/<stage>/<key>`, holds `inputs.json`, checkpoints
(`andrea/training/resume.py`), a lock, and `status.json` for whoever looks. When the regime is done
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
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from andrea.errors import UserError
from andrea.files import read_json, sha256, write_json

Inputs = Mapping[str, Any]

ROOT = Path(".scratch")
KEY_DIGITS = 16  # of the SHA-256 of the inputs, in hex
INPUTS, LOCK, FINISHED, STATUS = "inputs.json", "lock", "finished.json", "status.json"


@dataclass(frozen=True)
class Scratch:
    """One folder, held under its lock.

    Attributes:
        folder: `<root>/<stage>/<key>`.
        inputs: all that decides the bytes of the result, dotted names to plain JSON values.
    """

    folder: Path
    inputs: Inputs

    def finish(self, result: Path) -> None:
        """Note that `result`, the regime's checkpoint, is written."""
        write_json(self.folder / FINISHED, {"sha256": sha256(result)})

    def show(self, status: Mapping[str, Any]) -> None:
        """Put down where the run stands."""
        part = self.folder / f"{STATUS}.part"
        write_json(part, status)
        part.replace(self.folder / STATUS)


@contextmanager
def hold(root: Path, stage: str, inputs: Inputs) -> Iterator[Scratch]:
    """The scratch folder of these inputs, made if it is not there.

    Raises:
        UserError: another process holds it.
    """
    text = json.dumps(inputs, sort_keys=True, allow_nan=False)
    folder = root / stage / hashlib.sha256(text.encode()).hexdigest()[:KEY_DIGITS]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"{folder}: process {holder(folder)} trains {stage} from the same inputs already;"
                " wait for it, or stop it with Ctrl-C or `kill`"
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        for part in folder.glob("*.part"):
            part.unlink()
        if not (folder / INPUTS).exists():
            write_json(folder / INPUTS, inputs)
        yield Scratch(folder, inputs)


def others(scratch: Scratch) -> dict[Path, list[str]]:
    """Unfinished scratch of the same stage under other inputs, and what differs there."""
    found = {}
    for folder in sorted(scratch.folder.parent.iterdir()):
        unfinished = checkpoints(folder) and not (folder / FINISHED).exists()
        if folder != scratch.folder and unfinished and (folder / INPUTS).exists():
            found[folder] = differences(read_json(folder / INPUTS), scratch.inputs)
    return found


def remove_settled(root: Path, stage: str, result: Path) -> None:
    """Remove the scratch of a finished `stage` whose checkpoint has arrived as `result`."""
    finished = list((root / stage).glob(f"*/{FINISHED}"))
    if finished and result.exists():
        arrived = sha256(result)
        for note in finished:
            if read_json(note)["sha256"] == arrived:
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
    """`name: old, now new` for every input that differs."""
    return [
        f"{name}: {before.get(name, 'absent')!s}, now {after.get(name, 'absent')!s}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]
