"""The terrain, as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from pandas import DataFrame

from andrea.geometry.measure.result import Geometry
from andrea.geometry.terrain.measure.result import Basin, Terrain

QUARTILES = ("q25", "median", "q75")


def tables(geometry: Geometry) -> dict[str, DataFrame]:
    """Frames by name; empty ones for what was not measured."""
    terrain = geometry.terrain
    return {
        "basins": DataFrame([_basin(basin) for basin in terrain.basins]),
        "slices": _slices(terrain),
        "plane": _plane(terrain),
        "checkpoints": _checkpoints(terrain),
        "judgements": _judgements(terrain),
        "steepness": _steepness(terrain),
    }


def _basin(basin: Basin) -> dict[str, Any]:
    row: dict[str, Any] = {key: getattr(basin, key) for key in ("checkpoint", "batch", "nats")}
    for rise, three in zip(basin.radii.rises_nats, basin.radii.quartiles.T, strict=True):
        row |= {f"radius_{rise:g}.{q}": radius for q, radius in zip(QUARTILES, three, strict=True)}
    row["sigma"] = basin.sigma.sigma
    for share, rise in zip(basin.sharpness_radii, basin.sharpness, strict=True):
        row[f"sharpness_{share:g}"] = rise
    top = basin.eigenvalue
    return row | {
        "eigenvalue": None if top is None else top.largest,
        "eigenvalue_error": None if top is None else top.error,
        "smallest_eigenvalue": None if top is None else top.smallest,
    }


def _slices(terrain: Terrain) -> DataFrame:
    """Loss beside each checkpoint: the middle one of the directions, the lowest, the highest."""
    columns: dict[str, Any] = {}
    for basin in terrain.basins:
        if basin.slices is not None:
            name, nats = basin.checkpoint, basin.slices.nats
            columns |= {
                "distance": basin.slices.distances,
                name: np.median(nats, axis=0),
                f"{name}.lowest": nats.min(axis=0),
                f"{name}.highest": nats.max(axis=0),
            }
    return DataFrame(columns)


def _plane(terrain: Terrain) -> DataFrame:
    plane = terrain.plane
    if plane is None:
        return DataFrame()
    x, y = np.meshgrid(plane.x, plane.y)
    return DataFrame({"x": x.ravel(), "y": y.ravel(), "nats": plane.nats.ravel()})


def _checkpoints(terrain: Terrain) -> DataFrame:
    plane = terrain.plane
    if plane is None:
        return DataFrame()
    x, y = plane.path.T
    return DataFrame(
        {
            "checkpoint": terrain.plane_names, "step": terrain.plane_steps, "x": x, "y": y,
            "off_plane": plane.off_plane, "nats": plane.path_nats,
            "nats_at_the_shadow": plane.shadow_nats,
        }
    )  # fmt: skip


def _judgements(terrain: Terrain) -> DataFrame:
    rows = [
        {"batch": judged.batch, "against": judged.against}
        | vars(row)
        | ({} if judged.against == "control" else {"answer": "no control"})
        for judged in terrain.judgements
        for row in judged.rows
    ]
    names = {"with_polish": "radius", "without_polish": "other_radius"}
    return DataFrame(rows).rename(columns=names)


def _steepness(terrain: Terrain) -> DataFrame:
    return DataFrame(
        [
            {
                "source": row.source,
                "critical_rate": row.last.rate,
                "sharpness": row.last.sharpness,
                "own_critical_rate": row.own.rate,
                "own_sharpness": row.own.sharpness,
            }
            for row in terrain.steepness
        ]
    )
