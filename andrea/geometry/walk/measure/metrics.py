"""The walk in a few numbers."""

from __future__ import annotations

import numpy as np

from andrea.geometry.measure.result import Geometry


def metrics(geometry: Geometry) -> dict[str, float]:
    """Numbers by name; what is not known is left out."""
    walk = geometry.walk
    numbers = {
        "explained.first_axis": float(walk.plane.explained[0]),
        "explained.second_axis": float(walk.plane.explained[1]),
        "largest_deviation": float(walk.shares.deviation[-1]),
        "largest_lag_sequences": float(np.abs(walk.shares.lag_sequences).max()),
    }
    for index, regime in enumerate(walk.sizes):
        name = regime.name
        numbers[f"{name}.log10_share"] = regime.log10_share
        numbers[f"{name}.dimension"] = regime.dimension
        numbers[f"{name}.random_share"] = regime.random_share
        numbers[f"{name}.on_a_face"] = float(walk.faces.on_a_face[index])
        numbers[f"{name}.largest_deviation"] = float(walk.shares.deviation[index])
    for row in walk.where:
        numbers[f"{row.regime}.{row.kind}.entropy"] = row.entropy[1]
        numbers[f"{row.regime}.{row.kind}.corner_distance"] = row.corner_distance[1]
        if row.vertex_distance is not None:
            numbers[f"{row.regime}.{row.kind}.vertex_distance"] = row.vertex_distance[1]
    return numbers


def summary(geometry: Geometry) -> str:
    """The chapter in a line."""
    where = ", ".join(
        f"{row.regime} {row.entropy[1]:.2f} ({row.kind})"
        for row in geometry.walk.where
        if row.kind != "chance"
    )
    return f"walk: median entropy in nats {where}"
