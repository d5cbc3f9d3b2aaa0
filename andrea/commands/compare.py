"""The geometry of two runs side by side, as one page.

Each run is an experiment's name, a git revision, or a folder that holds
data/reports/geometry/geometry.json (. for the present one). Prints the numbers that differ.

Example: andrea compare HEAD v2
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from andrea.commands.shared import Commands, enter_repository, new_command
from andrea.common import paths
from andrea.common.errors import UserError
from andrea.geometry import compare as report

GEOMETRY = paths.GEOMETRY / "geometry.json"
NUMBERS = {
    "geometry": paths.GEOMETRY / "metrics.json",
    "evaluate": paths.REPORTS / "evaluate" / "metrics.json",
}
PAGE = Path("dvc_plots/compare.html")
EXPERIMENT = re.compile(r"refs/exps/[0-9a-f]{2}/[0-9a-f]{38}/(.+)")

LISTED = 20  # names of experiments in an error

Read = Callable[[Path], str | None]  # text of a file of a run; None where the run has none


def add(commands: Commands) -> None:
    """Make the command known."""
    command = new_command(commands, compare, __doc__)
    command.add_argument("runs", metavar="RUN", nargs=2, help="experiment, revision or folder")
    command.add_argument(
        "--out", metavar="FILE.html", type=Path, default=None, help=f"the page; else {PAGE}"
    )


def compare(given: argparse.Namespace) -> int:
    """Write the page of two runs and print what differs in numbers."""
    here = Path.cwd()
    enter_repository()
    names = (given.runs[0], given.runs[1])
    readers = [(_reader(name, here), name) for name in names]
    texts = [_needed(*reader) for reader in readers]
    numbers = [_numbers(*reader) for reader in readers]
    page = _place(None if given.out is None else here / given.out)
    html = _page(texts, names, [metrics_of_run.get("evaluate", {}) for metrics_of_run in numbers])
    try:
        page.write_text(html, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{page}: cannot be written ({error.strerror})") from error
    print("\n".join(report.lines(report.rows(*numbers), names)))
    print(f"\n{page}")
    return 0


def _place(asked: Path | None) -> Path:
    """Where the page goes, in a folder that is there."""
    if asked is None:
        PAGE.parent.mkdir(exist_ok=True)
        return PAGE
    if asked.is_dir():
        wrong = f"{asked}: is a folder"
    elif not asked.parent.is_dir():
        wrong = f"{asked.parent}: no such folder"
    else:
        return asked
    raise UserError(f"--out: {wrong}; must be a file in an existing folder")


def _page(texts: list[str], names: tuple[str, str], evaluations: list[dict[str, Any]]) -> str:
    from andrea.geometry.measure import files
    from andrea.geometry.page import page

    one, other = map(files.from_text, texts, (f"{name}:{GEOMETRY}" for name in names))
    return page.compare_html(one, other, names, (evaluations[0], evaluations[1]))


def _needed(read: Read, name: str) -> str:
    text = read(GEOMETRY)
    if text is None:
        raise UserError(
            f"{name}: has no {GEOMETRY}; `dvc repro geometry` makes it, or the experiment run again"
        )
    return text


def _numbers(read: Read, name: str) -> dict[str, Any]:
    """All metrics; of the evaluation those of the last checkpoint."""
    metrics = {}
    for stage, path in NUMBERS.items():
        if (text := read(path)) is not None:
            try:
                value = json.loads(text)
            except ValueError as error:
                raise UserError(f"{name}:{path}: not JSON ({error})") from error
            metrics[stage] = value if stage == "geometry" else value.get("polish", {})
    return metrics


def _reader(name: str, here: Path) -> Read:
    """What reads the files of a run.

    Raises:
        UserError: there is no such run.
    """
    folder = here / name
    if folder.is_dir():
        return lambda path: (
            (folder / path).read_text(encoding="utf-8") if (folder / path).is_file() else None
        )
    revision = _revision(name)

    def read(path: Path) -> str | None:
        done = _git("show", f"{revision}:./{path.as_posix()}")
        return done.stdout if done.returncode == 0 else None

    return read


def _revision(name: str) -> str:
    done = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if done.returncode == 0:
        return done.stdout.strip()
    listed = _git("for-each-ref", "--format=%(refname)", "refs/exps").stdout.split()
    experiments = [(ref, m[1]) for ref in listed if (m := EXPERIMENT.fullmatch(ref))]
    matches = [ref for ref, called in experiments if called == name]
    if not matches:
        known = sorted({called for _, called in experiments})
        raise UserError(
            f"{name}: neither a folder nor an experiment nor a git revision; experiments:"
            f" {', '.join(known[:LISTED]) or 'none'}{', ...' * (len(known) > LISTED)}"
        )
    if len(matches) > 1:
        raise UserError(
            f"{name}: experiments of {len(matches)} commits have that name; name the revision"
            f" instead, such as {matches[0]}"
        )
    return matches[0]


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", *arguments], capture_output=True, text=True, encoding="utf-8", check=False
        )
    except FileNotFoundError as error:
        raise UserError("git: not installed; name folders instead of revisions") from error
