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
    x, y = walk.plane.path.T
    path = DataFrame(vars(walk.path)).rename(columns={"kinds": "kind", "corner": "nearest_corner"})
    path["regime"] = path["regime"].map(dict(enumerate(walk.regimes)))
    path["nearest_corner"] = path["nearest_corner"].map(dict(enumerate(sources)))
    path.insert(2, "regime", path.pop("regime"))
    return path.assign(x=x, y=y, off_plane=walk.plane.off_plane)


def _timeline(walk: Walk, sources: Names) -> DataFrame:
    line = walk.timeline
    columns = {"step": line.edges[:-1]}
    for column in ("planned", "realised", "scores", "rewards"):
        by_source = getattr(line, column).T
        columns |= {f"{column}.{s}": values for s, values in zip(sources, by_source, strict=True)}
    return DataFrame(columns)


def _shares(walk: Walk, sources: Names) -> DataFrame:
    names = ("planned", "realised", "centre", "bandit", "random")
    columns = {name: getattr(walk.shares, name) for name in names}
    unknown = np.full((1, len(sources)), np.nan)  # over the whole run, whose bounds change
    columns["time_on_floor"] = np.vstack([walk.faces.on_floor, unknown])
    columns["time_on_cap"] = np.vstack([walk.faces.on_cap, unknown])
    return concat(
        DataFrame({"regime": regime, "source": sources}
                  | {name: values[place] for name, values in columns.items()})
        for place, regime in enumerate((*walk.regimes, "run"))
    )  # fmt: skip


def _where(walk: Walk) -> DataFrame:
    """Of each distance the median."""
    frame = DataFrame(map(vars, walk.where))
    for column in ("entropy", "corner_distance", "vertex_distance"):
        frame[column] = [values[1] if values else None for values in frame[column]]
    return frame
