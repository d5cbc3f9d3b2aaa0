"""How the run under way is doing, or how the latest one ended.

Step, rate, losses by source, alarms, samples and time left, as of the last row of the history.
Exits with 1 if the latest run was stopped.

Example: andrea health
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from andrea.commands.scratch import folders
from andrea.commands.shared import Commands, enter_repository, new_command
from andrea.common import files, paths, tables
from andrea.common.errors import UserError, line
from andrea.config.training import REGIMES
from andrea.scratch import folder as scratch
from andrea.tracking import health as report
from andrea.watching import recorded

CHECKOUT_SECONDS = 5.0  # in which git or DVC may write the reports of all regimes, in any order
METRICS = "metrics.json"
HALTS = {"cliff": "watch.on_cliff", "degenerate": "limits.on_degenerate"}  # kind of alarm: switch
GOES_ON = "`dvc repro`, or the same `dvc exp run`, goes on {}"


def add(commands: Commands) -> None:
    """Make the command known."""
    new_command(commands, health, __doc__)


def health(given: argparse.Namespace) -> int:
    """Print how each run under way is doing; where there is none, the latest one."""
    enter_repository()
    now = time.time()
    scratch_folders = list(folders())
    holders = {folder: scratch.holder(folder) for folder in scratch_folders}
    stopped = [folder for folder in scratch_folders if not (folder / scratch.FINISHED).exists()]
    latest = max(stopped, key=_changed, default=None)
    finished = _finished()
    status = 0
    if running := [(folder, process) for folder, process in holders.items() if process]:
        shown = [line for folder, process in running for line in _running(folder, process, now)]
    elif latest is not None and (finished is None or _changed(latest) > _written(finished)):
        shown, status = _stopped(latest, now), 1
    elif finished is not None:
        shown = [
            f"no run is under way; {finished} is the latest regime that finished",
            *report.lines(_from_reports(finished), now),
        ]
        if finished != REGIMES[-1]:
            shown.append(GOES_ON.format("with the next regime"))
    else:
        shown = ["no run yet; `dvc repro` starts one"]
    print("\n".join(shown))
    return status


def _running(folder: Path, process: int, now: float) -> list[str]:
    known = _known(folder)
    return [
        f"process {process} trains {folder.parent.name} in {folder}",
        *(report.lines(known, now) if isinstance(known, report.Health) else [known]),
        f"newest checkpoint: {_newest(folder)}",
    ]


def _stopped(folder: Path, now: float) -> list[str]:
    known = _known(folder)
    kept = scratch.checkpoints(folder)
    place = f"step {scratch.step_of(kept[-1]):,}" if kept else "the regime's beginning"
    goes_on = [GOES_ON.format(f"from {place}")]
    if isinstance(known, report.Health):
        ended = f"{known.regime} stopped after {known.step:,} steps, in {folder}"
        shown = [f"no run is under way; {ended}", *report.lines(known, now)]
        if known.halted_by is not None:
            goes_on.append(f"past this alarm: `dvc exp run -S {HALTS[known.halted_by]}=report`")
    else:
        shown = [f"no run is under way; {folder.parent.name} stopped, in {folder}", known]
    return [*shown, f"newest checkpoint: {_newest(folder)}", *goes_on]


def _known(folder: Path) -> report.Health | str:
    """What a regime has put down, or why that is nothing."""
    path = folder / scratch.STATUS
    try:
        return report.from_status(files.read_json(path))
    except FileNotFoundError:
        return "no row of the history yet"
    except (UserError, OSError, ValueError) as error:
        return report.cut(f"{path} is no status: {error}")


def _newest(folder: Path) -> str:
    kept = scratch.checkpoints(folder)
    return kept[-1].name if kept else "none yet"


def _changed(folder: Path) -> float:
    """When a folder was last told of, seconds since 1970."""
    notes = (folder / name for name in (scratch.STATUS, scratch.INPUTS))
    return max((note.stat().st_mtime for note in notes if note.exists()), default=0.0)


def _finished() -> str | None:
    """The regime that finished last, by its reports."""
    there = [name for name in REGIMES if (paths.REPORTS / name / METRICS).is_file()]
    newest = max(map(_written, there), default=0.0)
    return next(
        (name for name in reversed(there) if _written(name) > newest - CHECKOUT_SECONDS), None
    )


def _written(name: str) -> float:
    return (paths.REPORTS / name / METRICS).stat().st_mtime


def _from_reports(name: str) -> report.Health:
    folder = paths.REPORTS / name
    try:
        history = tables.numbers(folder / "history.csv")
        metrics = files.read_json(folder / METRICS)
        watched = recorded.read(folder)
        return report.from_reports(name, metrics, history, watched, _written(name))
    except FileNotFoundError as error:
        raise UserError(f"{error.filename}: not there; `dvc checkout` brings it back") from error
    except (UserError, ValueError) as error:
        raise UserError(f"{folder}: damaged reports, {line(error, 200)}") from error
