"""Pictures of the walk: shares over time, the plane and a triangle, what the bandit earned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Polygon
from numpy.typing import NDArray

from andrea.geometry.page import style
from andrea.geometry.walk.measure.result import Walk
from andrea.geometry.walk.measure.timeline import KINDS, Timeline
from andrea.geometry.walk.measure.triangle import Triangle

KIND_ROLES = ("muted", "regime0", "regime1")  # of `KINDS`
Floats = NDArray[np.float64]


def stacked(walk: Walk, sources: Sequence[str]) -> Figure:
    """Planned shares as bands over steps, kinds of phases under them."""
    line = walk.timeline
    figure = style.figure(style.WIDE, 390 + 16 * -(-(len(sources) + 2) // 3))
    bands, kinds = figure.subplots(2, 1, sharex=True, height_ratios=[12, 1])
    starts, widths = line.edges[:-1], np.diff(line.edges)
    for axes, shares, colours in (
        (bands, line.planned, [style.source_colour(n) for n in range(len(sources))]),
        (kinds, line.kinds, [style.colour(role) for role in KIND_ROLES]),
    ):
        tops = np.hstack([np.zeros((len(shares), 1)), shares.cumsum(axis=1)])
        tops = np.repeat(tops, 2, axis=0)
        across = np.column_stack([starts, starts + widths]).ravel()
        for place, colour in enumerate(colours):
            if shares[:, place].any():
                axes.fill_between(
                    across, tops[:, place], tops[:, place + 1], color=colour, linewidth=0
                )
        axes.set_ylim(0, 1)
        axes.set_xlim(line.edges[0], line.edges[-1])
        _borders(axes, walk, line)
    for place, (name, start) in enumerate(zip(walk.regimes, line.borders, strict=False)):
        bands.annotate(  # in steps, as a short regime has no room for its name
            name, (float(start), 1), (2, 3 + 13 * (place % 2)), xycoords=("data", "axes fraction"),
            textcoords="offset points", color=style.regime_colour(name),
        )  # fmt: skip
    bands.set_ylabel("share of the mixture")
    kinds.set_yticks([])
    kinds.set_xlabel("step; the strip: kind of phase")
    handles = [Patch(color=style.source_colour(n), label=name) for n, name in enumerate(sources)]
    handles += [
        Patch(color=style.colour(role), label=f"{kind} phase")
        for kind, role, used in zip(KINDS, KIND_ROLES, line.kinds.max(axis=0).tolist(), strict=True)
        if used
    ]
    figure.legend(handles=handles, ncols=3, loc="outside lower center", fontsize=10, handlelength=1)
    return figure


def plane(walk: Walk, sources: Sequence[str]) -> Figure:
    """Path and polygons seen along two principal axes."""
    figure, axes = style.panel(style.WIDE, 460)
    projected, corners = walk.plane, walk.plane.corners
    for index, name in enumerate(walk.regimes):
        colour = style.regime_colour(name)
        outline = projected.outlines[index]
        axes.add_patch(Polygon(outline, closed=True, facecolor=colour, alpha=0.08, linewidth=0))
        axes.add_patch(Polygon(outline, closed=True, fill=False, edgecolor=colour, linewidth=1.4))
        vertices = projected.vertices[index]
        if vertices is None:
            axes.scatter(
                projected.points[index][:, 0],
                projected.points[index][:, 1],
                s=3,
                color=colour,
                alpha=0.35,
                linewidths=0,
            )
        else:
            axes.scatter(
                vertices[:, 0], vertices[:, 1], s=26, marker="s", facecolor="none", edgecolor=colour
            )
        path = projected.path[walk.path.regime == index]
        axes.plot(*path.T, color=colour, linewidth=0.5, alpha=0.6)
        axes.scatter(path[:, 0], path[:, 1], s=11, color=colour, linewidths=0, label=name)
    axes.scatter(corners[:, 0], corners[:, 1], s=8, color=style.colour("muted"))
    _name_corners(axes, sources, corners)
    first, second = projected.explained
    axes.set(
        xlabel=f"first axis ({first:.0%} of the path's variance)",
        ylabel=f"second axis ({second:.0%})",
    )
    axes.set_aspect("equal", "datalim")
    axes.legend()
    axes.autoscale_view()
    return figure


def _name_corners(axes: Axes, sources: Sequence[str], corners: Floats) -> None:
    """Names of corners; of those that the plane does not tell apart, the outermost one's."""
    far = np.ptp(corners, axis=0).max() * 0.035
    named: list[Floats] = []
    outwards = np.linalg.norm(corners - corners.mean(axis=0), axis=1)
    for index in np.argsort(-outwards, kind="stable"):
        place = corners[index]
        if all(
            abs(place[1] - other[1]) > far or abs(place[0] - other[0]) > 9 * far for other in named
        ):
            axes.annotate(
                sources[index], place, (4, 2), textcoords="offset points", fontsize=9,
                color=style.colour("muted"),
            )  # fmt: skip
            named.append(place)


def stands(walk: Walk) -> Figure:
    """Entropy, distance to the nearest corner, and sources on a bound, over steps."""
    figure = style.figure(style.WIDE, 430)
    rows = figure.subplots(3, 1, sharex=True)
    path = walk.path
    for axes, values, name in (
        (rows[0], path.entropy, "entropy, nats"),
        (rows[1], path.corner_distance, "distance to the\nnearest corner"),
        (rows[2], path.on_bound.astype(np.float64), "sources on\na bound"),
    ):
        for kind, role in zip(KINDS, KIND_ROLES, strict=True):
            some = path.kinds == kind
            if some.any():
                axes.scatter(
                    path.start_step[some], values[some], s=8, linewidths=0,
                    color=style.colour(role), label=f"{kind} phases",
                )  # fmt: skip
        for start in path.start_step[np.flatnonzero(np.diff(path.regime)) + 1]:
            axes.axvline(float(start), color=style.colour("muted"), linewidth=0.8, linestyle=":")
        axes.set_ylabel(name)
        style.grid(axes)
    rows[2].set_ylim(-0.5, max(1, int(path.on_bound.max())) + 0.5)
    rows[2].set_xlabel("step (dotted: a regime begins)")
    style.legend_above(rows[0], 3, markerscale=2)
    return figure


def payoffs(walk: Walk, sources: Sequence[str]) -> Figure:
    """Scores, rewards and pulls of each source over steps."""
    line = walk.timeline
    figure = style.figure(style.WIDE, 120 + 3 * (30 + 13 * len(sources)))
    rows = figure.subplots(3, 1, sharex=True)
    edges = np.arange(len(sources) + 1)
    for axes, values, name, balance in (
        (rows[0], line.scores, "score (upper confidence bound)", False),
        (rows[1], line.rewards, "reward", True),
        (rows[2], np.where(line.realised > 0, line.realised, np.nan), "share of the pulls", False),
    ):
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        if balance:
            high = max(abs(low), abs(high), 1e-12)
            low = -high
        image = axes.pcolormesh(
            line.edges, edges, values.T, vmin=low, vmax=high, rasterized=True,
            cmap=style.BALANCE if balance else style.HEAT,
        )  # fmt: skip
        axes.set_yticks(edges[:-1] + 0.5, sources, fontsize=10)
        axes.invert_yaxis()
        axes.set_title(name, loc="left")
        for border in line.borders[1:-1]:
            axes.axvline(border, color=style.colour("ink"), linewidth=0.8)
        style.bare_image(axes)
        style.colour_bar(axes, image, pad=0.01, aspect=14)
    rows[2].set_xlabel("step")
    return figure


def shares(walk: Walk, sources: Sequence[str]) -> Figure:
    """Planned and realised shares over the run, beside what draws alone would plan."""
    by_regime = walk.shares
    figure, axes = style.panel(style.WIDE, 90 + 21 * len(sources))
    rows = np.arange(len(sources))
    axes.hlines(
        rows, by_regime.centre[-1], by_regime.planned[-1], color=style.colour("grid"), linewidth=3
    )
    for values, role, marker, size, name in (
        (by_regime.centre, "muted", "|", 90, "centre of the regions"),
        (by_regime.planned, "regime0", "o", 44, "planned"),
        (by_regime.realised, "regime1", "x", 26, "realised"),
    ):
        axes.scatter(
            values[-1], rows, s=size, marker=marker, color=style.colour(role), label=name, zorder=3
        )
    style.rows(axes, sources)
    axes.set_xlim(left=0)
    axes.set_xlabel("share of the run")
    style.legend_above(axes, 3)
    style.grid(axes, "x")
    return figure


def triangle(walk: Walk, triangle: Triangle) -> Figure:
    """Three sources among themselves: what each regime reaches, and where it walked."""
    figure, axes = style.panel(style.WIDE, 480)
    axes.add_patch(
        Polygon(triangle.corners, closed=True, fill=False, edgecolor=style.colour("muted"))
    )
    for index, (name, reach) in enumerate(zip(walk.regimes, triangle.reaches, strict=True)):
        colour = style.regime_colour(name)
        if len(reach.plane):
            axes.add_patch(Polygon(reach.plane, closed=True, facecolor=colour, alpha=0.08))
            axes.add_patch(
                Polygon(reach.plane, closed=True, fill=False, edgecolor=colour, linewidth=1.6)
            )
        here = walk.path.regime == index
        axes.scatter(
            triangle.plane[here, 0], triangle.plane[here, 1], s=3 + 40 * triangle.mass[here],
            color=colour, alpha=0.6, linewidths=0, label=name,
        )  # fmt: skip
    for (x, y), source, where in zip(
        triangle.corners, triangle.sources,
        (("left", "top"), ("right", "top"), ("center", "bottom")),
        strict=True,
    ):  # fmt: skip
        axes.annotate(
            source, (x, y), (0, -5 if where[1] == "top" else 5), textcoords="offset points",
            ha=where[0], va=where[1],
        )  # fmt: skip
    axes.set(aspect="equal", xlim=(-0.03, 1.03), ylim=(-0.07, 0.95))
    axes.axis("off")
    axes.legend(loc="upper left")
    return figure


def _borders(axes: Axes, walk: Walk, line: Timeline) -> None:
    for border in line.borders[1 : len(walk.regimes)]:
        axes.axvline(float(border), color=style.colour("paper"), linewidth=2)
        axes.axvline(float(border), color=style.colour("ink"), linewidth=0.8)
