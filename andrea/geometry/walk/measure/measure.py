"""The stage `geometry`, fourth part: the walk of the mixture, and the loss along it."""

from __future__ import annotations

import numpy as np

from andrea.common import paths
from andrea.common.tables import read as read_table
from andrea.config.training import REGIMES
from andrea.geometry.measure.run import FinishedRun
from andrea.geometry.walk.measure import phases, triangle
from andrea.geometry.walk.measure import places as walk
from andrea.geometry.walk.measure import shadow as walk_plane
from andrea.geometry.walk.measure import summary as walk_summary
from andrea.geometry.walk.measure import timeline as walk_timeline
from andrea.geometry.walk.measure.result import Losses, Path, Walk

LARGEST = 3  # sources of the triangle that is always shown


def measure(run: FinishedRun) -> Walk:
    """The walk in numbers."""
    cfg, names = run.cfg, run.facts.sources
    by_regime = {name: phases.read_phases(paths.REPORTS / name / "phases.csv") for name in REGIMES}
    found = phases.join(by_regime, run.regions)
    places = walk.path_places(found, cfg.vertices)
    drawn = walk.draw_points(found, cfg.chance_points, run.facts.seed)
    shares = walk.shares(found)
    order = np.argsort(-shares.planned[-1], kind="stable")[:LARGEST]
    threes = [tuple(names[place] for place in sorted(order.tolist())), *cfg.triangles]
    return Walk(
        found.names,
        Path(
            found.phases.start_step,
            found.phases.steps,
            found.phases.kinds,
            found.regime,
            places.entropy,
            places.corner,
            places.corner_distance,
            places.vertex_distance,
            places.on_bound,
        ),
        walk_timeline.timeline(found, cfg.bins),
        shares,
        walk.faces(found, places),
        walk_summary.sizes(found, cfg.vertices),
        walk_summary.where(found, places, drawn, cfg.vertices),
        walk_plane.project(found, walk_plane.region_axes(drawn), drawn, cfg.vertices),
        tuple(triangle.triangle(found, three) for three in threes if len(three) == LARGEST),
    )


def losses() -> Losses:
    """The training loss of all regimes, and the alarms."""
    rows = [(name, row) for name in REGIMES for row in _rows(name, "history.csv")]
    rows = [(name, row) for name, row in rows if row["loss"]]
    return Losses(
        np.array([name for name, _ in rows], dtype=np.str_),
        np.array([int(row["step"]) for _, row in rows], dtype=np.int64),
        np.array([float(row["loss"]) for _, row in rows], dtype=np.float64),
        tuple(row for name in REGIMES for row in _rows(name, "alarms.csv")),
    )


def last_lr() -> float:
    """Learning rate of the last step that was trained."""
    rates = [row["lr"] for name in REGIMES for row in _rows(name, "history.csv")]
    return float(rates[-1])


def _rows(name: str, file: str) -> list[dict[str, str]]:
    table = read_table(paths.REPORTS / name / file, text=True)
    return table.to_dict("records")  # type: ignore[no-any-return]
