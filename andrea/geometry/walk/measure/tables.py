"""The walk, as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

from andrea.geometry.measure.result import Geometry
from andrea.geometry.measure.row import Row


def tables(found: Geometry) -> dict[str, Iterator[Row]]:
    """Rows by name of the table."""
    return {
        "walk": _walk(found),
        "timeline": _timeline(found),
        "shares": _shares(found),
        "where": _where(found),
    }


def _walk(found: Geometry) -> Iterator[Row]:
    path, sources = found.walk.path, found.facts.sources
    for place in range(len(path.steps)):
        yield {
            "start_step": path.start_step[place],
            "steps": path.steps[place],
            "regime": found.walk.regimes[path.regime[place]],
            "kind": path.kinds[place],
            "entropy": path.entropy[place],
            "nearest_corner": sources[path.corner[place]],
            "corner_distance": path.corner_distance[place],
            "vertex_distance": path.vertex_distance[place],
            "on_bound": path.on_bound[place],
            "x": found.walk.plane.path[place, 0],
            "y": found.walk.plane.path[place, 1],
            "off_plane": found.walk.plane.off_plane[place],
        }


def _timeline(found: Geometry) -> Iterator[Row]:
    line = found.walk.timeline
    for place, step in enumerate(line.edges[:-1]):
        row: Row = {"step": step}
        for column in ("planned", "realised", "scores", "rewards"):
            values = getattr(line, column)[place]
            row |= {f"{column}.{s}": x for s, x in zip(found.facts.sources, values, strict=True)}
        yield row


def _shares(found: Geometry) -> Iterator[Row]:
    shares, faces = found.walk.shares, found.walk.faces
    for place, regime in enumerate((*found.walk.regimes, "run")):
        for number, source in enumerate(found.facts.sources):
            inside = place < len(found.walk.regimes)
            yield {
                "regime": regime,
                "source": source,
                "planned": shares.planned[place, number],
                "realised": shares.realised[place, number],
                "centre": shares.centre[place, number],
                "bandit": shares.bandit[place, number],
                "random": shares.random[place, number],
                "time_on_floor": faces.on_floor[place, number] if inside else None,
                "time_on_cap": faces.on_cap[place, number] if inside else None,
            }


def _where(found: Geometry) -> Iterator[Row]:
    for row in found.walk.where:
        vertices = row.vertex_distance or (math.nan,) * len(row.entropy)
        yield {
            "regime": row.regime,
            "kind": row.kind,
            "steps": row.steps,
            "entropy": row.entropy[1],
            "corner_distance": row.corner_distance[1],
            "vertex_distance": vertices[1],
        }
