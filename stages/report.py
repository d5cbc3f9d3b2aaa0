"""Draw the page of the run from what the stage `geometry` measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from andrea.common import paths
from andrea.common.files import whole_folder
from andrea.geometry.measure import files
from andrea.geometry.page import page
from andrea.shell.stage import run as run_stage

if TYPE_CHECKING:
    from andrea.config.tree import Config


def report(config: Config) -> None:
    """Write `report.html`."""
    file = paths.GEOMETRY / files.FILE
    measured = files.from_text(file.read_text(encoding="utf-8"), str(file))
    with whole_folder(paths.REPORTS / "report") as folder:
        (folder / "report.html").write_text(page.html(measured), encoding="utf-8")


if __name__ == "__main__":
    run_stage(report)
