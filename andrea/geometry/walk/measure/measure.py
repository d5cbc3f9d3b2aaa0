"""The walk of the mixture, and the loss along it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from andrea.common import paths
from andrea.common.tables import read as read_table
from andrea.config.training import REGIMES
from andrea.geometry.measure.run import FinishedRun
from andrea.geometry.walk.measure import phases, places, shadow, summary, timeline, triangle
from andrea.geometry.walk.measure.result import Losses, Path, Walk

CORNERS = 3


def measure(run: FinishedRun) -> Walk:
    """The walk in numbers."""
    cfg = run.cfg
    by_regime = {name: phases.read_phases(paths.REPORTS / name / "phases.csv") for name in REGIMES}
    walked = phases.join(by_regime, run.regions)
    return of_phases(
        walked, run.facts.seed, cfg.bins, cfg.chance_points, cfg.vertices, cfg.triangles
    )


def of_phases(
    walked: phases.Walk,
    seed: int,
    bins: int,
    chance_points: int,
    vertices: int,
    triangles: Sequence[Sequence[str]] = (),
) -> Walk:
    """The walk in numbers.

    Args:
        bins: of the timeline, about so many.
        chance_points: uniform draws from each region.
        vertices: list those of a region that has no more.
        triangles: of three sources each; that of the run's three largest is added in front.
    """
    phase = walked.phases
    stood = places.path_places(walked, vertices)
    drawn = places.draw_points(walked, chance_points, seed)
    shares = places.shares(walked)
    largest = np.sort(np.argsort(-shares.planned[-1], kind="stable")[:CORNERS])
    names = [phase.sources[place] for place in largest]
    return Walk(
        walked.names,
        Path(
            phase.start_step, phase.steps, phase.kinds, walked.regime, stood.entropy,
            stood.corner, stood.corner_distance, stood.vertex_distance, stood.on_bound,
        ),
        timeline.timeline(walked, bins),
        shares,
        places.faces(walked, stood),
        summary.sizes(walked, vertices),
        summary.where(walked, stood, drawn, vertices),
        shadow.project(walked, shadow.region_axes(drawn), drawn, vertices),
        tuple(
            triangle.triangle(walked, three)
            for three in (names, *triangles)
            if len(three) == CORNERS  # a run of two sources has no triangle
        ),
    )  # fmt: skip


def losses() -> Losses:
    """The training loss of all regimes, and the alarms."""
    rows = [(name, row) for name in REGIMES for row in _rows(name, "history.csv") if row["loss"]]
    return Losses(
        np.array([name for name, _ in rows], dtype=np.str_),
        np.array([int(row["step"]) for _, row in rows], dtype=np.int64),
        np.array([float(row["loss"]) for _, row in rows], dtype=np.float64),
        tuple(row for name in REGIMES for row in _rows(name, "alarms.csv")),
    )


def last_lr() -> float:
    """Learning rate of the last step that was trained."""
    lrs = [row["lr"] for name in REGIMES for row in _rows(name, "history.csv")]
    return float(lrs[-1])


def _rows(name: str, file: str) -> list[dict[str, str]]:
    table = read_table(paths.REPORTS / name / file, text=True)
    return table.to_dict("records")  # type: ignore[no-any-return]
