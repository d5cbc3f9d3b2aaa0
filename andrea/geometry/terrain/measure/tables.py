"""The terrain, as tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from andrea.geometry.measure.result import Geometry
from andrea.geometry.measure.row import QUARTILES, Row


def tables(found: Geometry) -> dict[str, Iterator[Row]]:
    """Rows by name of the table."""
    return {
        "basins": _basins(found),
        "slices": _slices(found),
        "plane": _plane(found),
        "checkpoints": _checkpoints(found),
        "judgements": _judgements(found),
        "steepness": _steepness(found),
    }


def _basins(found: Geometry) -> Iterator[Row]:
    for basin in found.terrain.basins:
        row: Row = {"checkpoint": basin.checkpoint, "batch": basin.batch, "nats": basin.nats}
        for place, rise in enumerate(basin.radii.rises_nats):
            quartiles = basin.radii.quartiles[:, place]
            row |= {f"radius_{rise:g}.{q}": x for q, x in zip(QUARTILES, quartiles, strict=True)}
        row["sigma"] = basin.sigma.sigma
        for share, rise in zip(basin.sharpness_radii, basin.sharpness, strict=True):
            row[f"sharpness_{share:g}"] = rise
        top = basin.eigenvalue
        row |= {
            "eigenvalue": None if top is None else top.largest,
            "eigenvalue_error": None if top is None else top.error,
            "smallest_eigenvalue": None if top is None else top.smallest,
        }
        yield row


def _slices(found: Geometry) -> Iterator[Row]:
    """Loss beside each checkpoint: the middle one of the directions, the lowest, the highest."""
    shown = [
        (basin.checkpoint, basin.slices)
        for basin in found.terrain.basins
        if basin.slices is not None
    ]
    for place, distance in enumerate(shown[0][1].distances if shown else ()):
        row: Row = {"distance": distance}
        for name, slices in shown:
            nats = slices.nats[:, place]
            row[name] = np.median(nats)
            row |= {f"{name}.lowest": nats.min(), f"{name}.highest": nats.max()}
        yield row


def _plane(found: Geometry) -> Iterator[Row]:
    plane = found.terrain.plane
    if plane is not None:
        for y, losses in zip(plane.y, plane.nats, strict=True):
            for x, nats in zip(plane.x, losses, strict=True):
                yield {"x": x, "y": y, "nats": nats}


def _checkpoints(found: Geometry) -> Iterator[Row]:
    plane = found.terrain.plane
    if plane is not None:
        for place, name in enumerate(found.terrain.plane_names):
            yield {
                "checkpoint": name,
                "step": found.terrain.plane_steps[place],
                "x": plane.path[place, 0],
                "y": plane.path[place, 1],
                "off_plane": plane.off_plane[place],
                "nats": plane.path_nats[place],
                "nats_at_the_shadow": plane.shadow_nats[place],
            }


def _judgements(found: Geometry) -> Iterator[Row]:
    for judged in found.terrain.judgements:
        for row in judged.rows:
            yield {
                "batch": judged.batch,
                "against": judged.against,
                "rise_nats": row.rise_nats,
                "radius": row.with_polish,
                "other_radius": row.without_polish,
                "difference": row.difference,
                "low": row.low,
                "high": row.high,
                "answer": row.answer if judged.against == "control" else "no control",
            }


def _steepness(found: Geometry) -> Iterator[Row]:
    for row in found.terrain.steepness:
        yield {
            "source": row.source,
            "critical_rate": row.last.rate,
            "sharpness": row.last.sharpness,
            "own_critical_rate": row.own.rate,
            "own_sharpness": row.own.sharpness,
        }
