"""What unfinished runs keep to go on from, and how to remove it.

Lists the scratch folders of the regimes: a run that was stopped goes on from the newest checkpoint
in its folder.

Example: andrea scratch --clean polish
"""

from __future__ import annotations

import argparse
import fcntl
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from andrea.commands.shared import Commands, enter_repository, new_command
from andrea.common.errors import UserError
from andrea.config.training import REGIMES
from andrea.scratch.folder import FINISHED, LOCK, checkpoints, holder, root, step_of
from andrea.shell.columns import aligned
from andrea.tracking.health import duration

MEGABYTE = 1e6


def add(commands: Commands) -> None:
    """Make the command known."""
    command = new_command(commands, scratch, __doc__)
    command.add_argument(
        "--clean", metavar="STAGE[/KEY]", nargs="?", const="",
        help="remove what no process holds, at once; all of it, or of one stage, or one folder",
    )  # fmt: skip


def scratch(given: argparse.Namespace) -> int:
    """List the folders, or remove them."""
    enter_repository()
    kept = list(folders())
    if given.clean is None:
        print("\n".join(_listed(kept, time.time())))
    else:
        _clean(_chosen(kept, given.clean))
    return 0


def folders() -> Iterator[Path]:
    """Every scratch folder of a regime, in the order of the regimes."""
    for name in REGIMES:
        yield from sorted(path for path in (root() / name).glob("*") if path.is_dir())


def _listed(found: list[Path], now: float) -> list[str]:
    if not found:
        return ["no scratch"]
    rows = [("stage", "key", "step", "MB", "changed", "state")]
    total = 0
    for folder in found:
        kept = checkpoints(folder)
        size, changed = _measure(folder)
        total += size
        step = f"{step_of(kept[-1]):,}" if kept else "-"
        facts = (step, _megabytes(size), duration(now - changed), _state(folder))
        rows.append((folder.parent.name, folder.name, *facts))
    rows.append(("in all", "", "", _megabytes(total), "", ""))
    return aligned(rows, "<<>>><")


def _state(folder: Path) -> str:
    process = holder(folder)
    state = "unfinished"
    if process is not None:
        state = f"running, process {process}"
    elif (folder / FINISHED).exists():
        state = "finished"
    refused = len(list(folder.glob("*.refused")))
    return f"{state}, refused files: {refused}" if refused else state


def _measure(folder: Path) -> tuple[int, float]:
    """Bytes in a folder, and when it was last written to; files may go away meanwhile."""
    size, changed = 0, folder.stat().st_mtime
    for path in folder.iterdir():
        try:
            facts = path.stat()
        except FileNotFoundError:
            continue
        size, changed = size + facts.st_size, max(changed, facts.st_mtime)
    return size, changed


def _chosen(kept: list[Path], which: str) -> list[Path]:
    stage, _, key = which.rstrip("/").partition("/")
    if stage and stage not in REGIMES:
        raise UserError(f"--clean {which}: no such stage, there are {', '.join(REGIMES)}")
    chosen = [path for path in kept if stage in ("", path.parent.name) and key in ("", path.name)]
    if key and not chosen:
        raise UserError(f"--clean {which}: no such folder; `andrea scratch` lists them")
    return chosen


def _clean(chosen: list[Path]) -> None:
    total = 0
    for folder in chosen:
        name = f"{folder.parent.name}/{folder.name}"
        size, _ = _measure(folder)
        if _remove(folder):
            total += size
            print(f"removed {name}, {_megabytes(size)} MB")
        else:
            print(f"kept {name}: process {holder(folder)} trains there")
    print(f"{_megabytes(total)} MB freed" if chosen else "no scratch")


def _remove(folder: Path) -> bool:
    """Remove a folder unless a process holds it, and let none begin there meanwhile."""
    with (folder / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        shutil.rmtree(folder)
    return True


def _megabytes(size: int) -> str:
    return f"{size / MEGABYTE:,.1f}"
