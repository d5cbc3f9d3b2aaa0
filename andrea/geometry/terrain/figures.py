"""Pictures of the terrain: slices, the plane of the run, basins, rates, the loss curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from andrea.geometry.page import style
from andrea.geometry.terrain.measure.basin import Comparison, Radii
from andrea.geometry.terrain.measure.plane import PlanePicture
from andrea.geometry.terrain.measure.result import SNAPSHOT
from andrea.geometry.terrain.measure.surface import Slices

Floats = NDArray[np.float64]

LEAST_RISE = 0.05  # nats; what is lower than that above the lowest point looks alike
RISES = np.array([0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 6, 8, 12])  # nats, of the lines
CROWDED = 0.06  # share of the map within which names are written one below the other

HALO = [withStroke(linewidth=2.5, foreground="#000001")]


def slices(by_checkpoint: Sequence[tuple[str, Slices]]) -> Figure:
    """Loss along random directions through each checkpoint; thick: the median."""
    figure = style.figure(style.WIDE, 280)
    panels = figure.subplots(1, len(by_checkpoint), sharey=True, squeeze=False)[0]
    for axes, (name, one) in zip(panels, by_checkpoint, strict=True):
        colour = style.regime_colour(name)
        axes.plot(one.distances, one.nats.T, color=colour, linewidth=0.6, alpha=0.45)
        axes.plot(one.distances, np.median(one.nats, axis=0), color=colour, linewidth=2.2)
        axes.set_title(name)
        style.grid(axes)
    panels[0].set_ylabel("loss, nats per token")
    figure.supxlabel("distance along a direction, share of every row's length", fontsize=12)
    return figure


def plane(plane_picture: PlanePicture, names: Sequence[str]) -> Figure:
    """The loss on the plane of a run's path, with the path.

    Args:
        names: of the points on its path. A snapshot has the colour of the checkpoint that follows
            it; `control` is of another run, off the line.
    """
    figure, axes = style.panel(style.WIDE, 460)
    # The grid is far above the path in places, so colours follow the logarithm of the rise.
    finite = np.where(np.isfinite(plane_picture.nats), plane_picture.nats, np.nan)
    low = float(np.nanmin(finite))
    height = np.ma.masked_invalid(np.log(finite - low + LEAST_RISE))
    levels = MaxNLocator(14).tick_values(float(height.min()), float(height.max()))
    axes.contourf(
        plane_picture.x,
        plane_picture.y,
        height,
        levels=levels,
        cmap=style.cut_map("viridis", 0.1, 0.95),
    )
    lines = axes.contour(
        plane_picture.x, plane_picture.y, np.ma.masked_invalid(finite),
        levels=np.unique(np.round(low + RISES, 1)),
        colors="#fffffd", linewidths=0.7,
    )  # fmt: skip
    axes.clabel(lines, fmt=lambda value: f"{value:.1f}", fontsize=8)
    own = np.array([name != "control" for name in names])
    axes.plot(*plane_picture.path[own].T, color="#fffffd", linewidth=1.6, path_effects=HALO)
    room = np.ptp([plane_picture.x[[0, -1]], plane_picture.y[[0, -1]]], axis=1)
    named = np.array([name != SNAPSHOT for name in names])
    for place, ((x, y), name) in enumerate(zip(plane_picture.path, names, strict=True)):
        regime = name if named[place] else next(n for n in names[place:] if n != SNAPSHOT)
        axes.plot(
            x, y, "o", color=style.regime_colour(regime), markeredgecolor="#fffffd",
            markersize=8 if named[place] else 5, markeredgewidth=1,
        )  # fmt: skip
        if named[place]:
            near = np.abs(plane_picture.path[:place] - plane_picture.path[place]) / room < CROWDED
            line = int((near.all(axis=1) & named[:place]).sum())
            axes.annotate(
                name, (x, y), (7, 6 - 13 * line), textcoords="offset points", color="#fffffd",
                path_effects=HALO,
            )  # fmt: skip
    first, second = plane_picture.explained
    axes.set(
        xlabel=f"first axis ({first:.0%} of the variance), Euclidean length",
        ylabel=f"second axis ({second:.0%})",
    )
    return figure


def basins(by_checkpoint: Sequence[tuple[str, Radii]]) -> Figure:
    """Radii along each direction, with quartiles, by checkpoint."""
    rises = by_checkpoint[0][1].rises_nats
    figure = style.figure(style.WIDE, 70 + len(rises) * (40 + 30 * len(by_checkpoint)))
    panels = figure.subplots(len(rises), 1, squeeze=False)[:, 0]
    for place, (axes, rise) in enumerate(zip(panels, rises, strict=True)):
        for row, (name, one) in enumerate(by_checkpoint):
            colour = style.regime_colour(name.split()[0])
            values = np.sort(one.radii[:, place])
            spread = 0.3 * np.where(np.arange(len(values)) % 2, 1, -1) * 0.6
            axes.scatter(values, row + spread, s=9, color=colour, alpha=0.55, linewidths=0)
            low, middle, high = one.quartiles[:, place]
            axes.hlines(row, low, high, color=colour, linewidth=4)
            axes.plot(
                middle, row, "o", color=style.colour("paper"), markeredgecolor=colour,
                markersize=7, markeredgewidth=2,
            )  # fmt: skip
        style.rows(axes, [name for name, _ in by_checkpoint])
        axes.set_title(f"until the loss has risen by {rise:g} nats", loc="left")
        style.grid(axes, "x")
    panels[-1].set_xlabel("radius, share of every row's length (larger is wider)")
    return figure


def comparison(by_batch: Mapping[str, Sequence[Comparison]]) -> Figure:
    """Difference of median radii with its interval, by batch and rise."""
    rows = [(batch, one) for batch, several in by_batch.items() for one in several]
    figure, axes = style.panel(style.WIDE, 90 + 32 * len(rows))
    for row, (_, one) in enumerate(rows):
        role = {"wider": "regime2", "narrower": "regime1"}.get(one.answer, "muted")
        axes.hlines(row, one.low, one.high, color=style.colour(role), linewidth=4)
        axes.plot(one.difference, row, "o", color=style.colour(role), markersize=9)
    axes.axvline(0, color=style.colour("ink"), linewidth=1)
    style.rows(axes, [f"{batch}, {one.rise_nats:g} nats" for batch, one in rows])
    axes.set_title("← narrower", loc="left")
    axes.set_title("wider →", loc="right")
    axes.set_xlabel("median radius with polish less without")
    style.grid(axes, "x")
    return figure


def critical(sources: Sequence[str], rates: Floats, last_rate: float, first: str) -> Figure:
    """Critical learning rate of each source along an update.

    Args:
        rates: (n,); 0 where the loss rises at once.
        first: name of the update, for the axis.
    """
    order = np.argsort(-rates, kind="stable")
    figure, axes = style.panel(style.WIDE, 80 + 20 * len(sources))
    least = last_rate / 300
    shown = np.maximum(rates[order], least)
    rows = np.arange(len(order))
    axes.hlines(rows, least, shown, color=style.colour("regime0"), linewidth=2)
    axes.scatter(shown, rows, s=36, color=style.colour("regime0"), zorder=3)
    axes.axvline(last_rate, color=style.colour("alarm"), linewidth=1.2, linestyle="--")
    axes.annotate(
        "rate of the last step", (last_rate, 1), (4, 3), xycoords=("data", "axes fraction"),
        textcoords="offset points", color=style.colour("alarm"), fontsize=10,
    )  # fmt: skip
    style.logarithmic(axes.xaxis)
    style.rows(axes, [sources[n] + ("" if rates[n] else " (at once)") for n in order])
    axes.set_xlabel(f"critical learning rate along {first}")
    style.grid(axes, "x")
    return figure


def loss_curve(
    curves: Sequence[tuple[str, Floats, Floats]], cliffs: Sequence[tuple[int, float]]
) -> Figure:
    """Training loss over steps, regime by regime, with the cliffs of the watch.

    Args:
        curves: regime, steps and loss in nats per token.
        cliffs: step and loss of each sequence that the watch called a cliff.
    """
    figure, axes = style.panel(style.WIDE, 300)
    for name, steps, nats in curves:
        axes.plot(steps, nats, color=style.regime_colour(name), linewidth=1.4, label=name)
        axes.axvline(float(steps[0]), color=style.colour("grid"), linewidth=0.8)
    if cliffs:
        axes.scatter(
            [step for step, _ in cliffs], [nats for _, nats in cliffs], s=44, marker="v",
            color=style.colour("alarm"), label="cliff", zorder=4,
        )  # fmt: skip
    axes.set(xlabel="step", ylabel="training loss, nats per token")
    axes.legend()
    style.grid(axes)
    return figure
