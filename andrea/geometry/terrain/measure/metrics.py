"""The terrain in a few numbers: widths of the basins, and what is known beside a control."""

from __future__ import annotations

from typing import Any

from andrea.geometry.measure.result import Geometry
from andrea.geometry.terrain.measure.result import Basin


def metrics(geometry: Geometry) -> dict[str, Any]:
    """Numbers by name: widths by batch and checkpoint, then the comparison with a control."""
    terrain = geometry.terrain
    numbers: dict[str, Any] = {}
    for basin in terrain.basins:
        numbers.setdefault(basin.batch, {})[basin.checkpoint] = _widths(basin)
    for judged in terrain.judgements:
        if judged.against == "control":
            for row in judged.rows:
                name = f"{judged.batch}_against_control_{row.rise_nats:g}_nats"
                shown = ("difference", "low", "high", "answer")
                numbers[name] = {key: getattr(row, key) for key in shown}
    numbers["control"] = terrain.control or "none"
    if terrain.plane is not None:
        numbers["largest_off_plane"] = float(terrain.plane.off_plane.max())
        numbers["plane_explained"] = float(terrain.plane.explained.sum())
    if terrain.steepness:
        rates = [row.last.rate for row in terrain.steepness]
        numbers["rate"] = terrain.rate
        numbers["smallest_critical_rate"] = min(rates)
        numbers["sources_hurt_by_the_last_step"] = sum(rate < terrain.rate for rate in rates)
    return numbers


def summary(geometry: Geometry) -> str:
    """The chapter in a line: whether polish made the basin wider, if that can be said."""
    fair = [judged for judged in geometry.terrain.judgements if judged.against == "control"]
    if not fair:
        return "terrain: no control, so nothing can be said of what polish did to the basin's width"
    rows = "; ".join(
        f"{row.answer} on {judged.batch} at {row.rise_nats:g} nats, by {row.difference:+.4f}"
        f" ({row.low:+.4f} to {row.high:+.4f})"
        for judged in fair
        for row in judged.rows
    )
    return f"terrain: against the control polish is {rows}"


def _widths(basin: Basin) -> dict[str, float]:
    numbers = {
        f"radius_{rise:g}_nats": float(median)
        for rise, median in zip(basin.radii.rises_nats, basin.radii.quartiles[1], strict=True)
    }
    numbers |= {"nats": basin.nats, "sigma": basin.sigma.sigma}
    numbers |= {
        f"sharpness_{share:g}": float(rise)
        for share, rise in zip(basin.sharpness_radii, basin.sharpness, strict=True)
    }
    if basin.eigenvalue is not None:
        numbers["eigenvalue"] = basin.eigenvalue.largest
    return numbers
