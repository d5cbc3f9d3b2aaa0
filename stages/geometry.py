"""See the run: token vectors, heads, the terrain of the loss, and the walk of the mixture."""

from __future__ import annotations

from andrea.common import paths
from andrea.common.files import whole_folder
from andrea.config.tree import Config
from andrea.report import exact, geometry_files, geometry_metrics
from andrea.report.geometry import Geometry
from andrea.shell.progress import Progress
from andrea.shell.stage import run as run_stage
from stages import _geometry_run, _geometry_terrain, _geometry_walk
from stages._geometry_heads import heads
from stages._geometry_vectors import vectors


def geometry(config: Config) -> None:
    """Write `metrics.json`, tables, `geometry.json` and `report.html`."""
    found = look(config)
    with whole_folder(paths.GEOMETRY) as folder:
        geometry_files.write(folder, found)
    print("\n".join(geometry_metrics.summary(found)))


def look(config: Config) -> Geometry:
    """Measure everything.

    Returns:
        What `geometry.json` holds, to the last bit, so that a comparison of two such files shows
        what the page of each showed.
    """
    run = _geometry_run.read(config)
    with Progress("geometry", 3 + _geometry_terrain.parts_of_progress(run)) as progress:
        table = vectors(run)
        progress.advance("vectors")
        seen = heads(run)
        progress.advance("heads")
        path, losses = _geometry_walk.steps(run, config), _geometry_walk.losses()
        progress.advance("walk")
        ground = _geometry_terrain.measure(run, _geometry_walk.last_rate(), progress)
    found = Geometry(run.facts, table, seen, ground, path, losses)
    return exact.decode(exact.encode(found), Geometry)


if __name__ == "__main__":
    run_stage(geometry)
