"""The walk, as tables."""

from __future__ import annotations

import numpy as np
from pandas import DataFrame, concat

from andrea.geometry.measure.result import Geometry
from andrea.geometry.walk.measure.result import Walk

Names = tuple[str, ...]


def tables(geometry: Geometry) -> dict[str, DataFrame]:
    """Frames by name."""
    walk, sources = geometry.walk, geometry.facts.sources
    return {
        "walk": _walk(walk, sources),
        "timeline": _timeline(walk, sources),
        "shares": _shares(walk, sources),
        "where": _where(walk),
    }


def _walk(walk: Walk, sources: Names) -> DataFrame:
    path, plane = walk.path, walk.plane
    return DataFrame(
        {
            "start_step": path.start_step,
            "steps": path.steps,
            "regime": [walk.regimes[place] for place in path.regime],
            "kind": path.kinds,
            "entropy": path.entropy,
            "nearest_corner": [sources[place] for place in path.corner],
            "corner_distance": path.corner_distance,
            "vertex_distance": path.vertex_distance,
            "on_bound": path.on_bound,
            "x": plane.path[:, 0],
            "y": plane.path[:, 1],
            "off_plane": plane.off_plane,
        }
    )


def _timeline(walk: Walk, sources: Names) -> DataFrame:
    line = walk.timeline
    columns = {"step": line.edges[:-1]}
    for column in ("planned", "realised", "scores", "rewards"):
        by_source = getattr(line, column).T
        columns |= {f"{column}.{s}": values for s, values in zip(sources, by_source, strict=True)}
    return DataFrame(columns)


def _shares(walk: Walk, sources: Names) -> DataFrame:
    shares, faces = walk.shares, walk.faces
    unknown = np.full((1, len(sources)), np.nan)  # over the whole run, whose bounds change
    columns = {
        "planned": shares.planned,
        "realised": shares.realised,
        "centre": shares.centre,
        "bandit": shares.bandit,
        "random": shares.random,
        "time_on_floor": np.vstack([faces.on_floor, unknown]),
        "time_on_cap": np.vstack([faces.on_cap, unknown]),
    }
    return concat(
        DataFrame({"regime": regime, "source": sources}
                  | {name: values[place] for name, values in columns.items()})
        for place, regime in enumerate((*walk.regimes, "run"))
    )  # fmt: skip


def _where(walk: Walk) -> DataFrame:
    return DataFrame(
        [
            {
                "regime": row.regime,
                "kind": row.kind,
                "steps": row.steps,
                "entropy": row.entropy[1],
                "corner_distance": row.corner_distance[1],
                "vertex_distance": row.vertex_distance[1] if row.vertex_distance else None,
            }
            for row in walk.where
        ]
    )
