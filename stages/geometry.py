"""Measure the run: token vectors, heads, the terrain of the loss, and the walk of the mixture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from andrea.common import paths
from andrea.common.files import whole_folder
from andrea.geometry.measure import files, metrics, run
from andrea.geometry.measure.measure import measure
from andrea.shell.stage import run as run_stage

if TYPE_CHECKING:
    from andrea.config.tree import Config


def geometry(config: Config) -> None:
    """Write `metrics.json`, tables, and `geometry.json`, from which the page is drawn."""
    measured = measure(run.read(config))
    with whole_folder(paths.GEOMETRY) as folder:
        files.write(folder, measured)
    print("\n".join(metrics.summary(measured)))


if __name__ == "__main__":
    run_stage(geometry)
