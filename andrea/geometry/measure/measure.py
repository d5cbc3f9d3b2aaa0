"""A finished run, measured four ways."""

from __future__ import annotations

from andrea.geometry.heads.measure.measure import measure as heads
from andrea.geometry.measure.files import rounded
from andrea.geometry.measure.result import Geometry
from andrea.geometry.measure.run import FinishedRun
from andrea.geometry.terrain.measure import measure as terrain
from andrea.geometry.vectors.measure.measure import measure as vectors
from andrea.geometry.walk.measure import measure as walk
from andrea.shell.progress import Progress


def measure(run: FinishedRun) -> Geometry:
    """Measure everything; floats are those that `geometry.json` holds.

    Raises:
        UserError: a report is missing, or there is too little text.
    """
    with Progress("geometry", 3 + terrain.parts_of_progress(run)) as progress:
        of_vectors = vectors(run)
        progress.advance("vectors")
        of_heads = heads(run)
        progress.advance("heads")
        of_walk, losses = walk.measure(run), walk.losses()
        progress.advance("walk")
        of_terrain = terrain.measure(run, walk.last_lr(), progress)
    return rounded(Geometry(run.facts, of_vectors, of_heads, of_terrain, of_walk, losses))
