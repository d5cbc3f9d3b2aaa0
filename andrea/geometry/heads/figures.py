"""Pictures of the heads: what each looks at, what each is like, how much they share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from andrea.geometry.heads.measure.attention import Position
from andrea.geometry.heads.measure.heads import Statistics, head_names
from andrea.geometry.heads.measure.subspaces import PROJECTIONS, Subspaces
from andrea.geometry.page import style

WRITTEN = 100  # heads up to which numbers are written into cells
READABLE = 24  # heads that have a row with a name of its own
STATISTICS = (
    ("entropy_share", "entropy, share of the largest", 2),
    ("distance_tokens", "mean distance, tokens", 1),
    ("first_token_weight", "weight on the first token", 2),
    ("previous_token_weight", "weight on the previous token", 2),
    ("induction_weight", "induction score", 2),
)
Weights = NDArray[np.floating]


def attention(tokens: Sequence[str], weights_TT: Weights, title: str) -> Figure:
    """One head: from each token (a row) to what it looks at (columns)."""
    count = len(tokens)
    side = max(200, 10.4 * count)
    figure, axes = style.panel(side + 74, side + 84)
    axes.imshow(np.sqrt(_lower(weights_TT)), cmap=style.HEAT, vmin=0, vmax=1)
    axes.set_xticks(range(count), tokens, rotation=90, fontsize=9)
    axes.set_yticks(range(count), tokens, fontsize=9)
    axes.set_title(title)
    style.bare_image(axes)
    return figure


def montage(weights_LHTT: Weights) -> Figure:
    """All heads at once, a layer a row, where they are too many to read one by one."""
    layers, heads, count = weights_LHTT.shape[:3]
    sheet = np.full((layers, count + 2, heads, count + 2), np.nan)
    sheet[:, 1:-1, :, 1:-1] = np.sqrt(_lower(weights_LHTT)).swapaxes(1, 2)
    figure, axes = style.panel(style.WIDE, 60 + style.WIDE * layers / heads)
    axes.imshow(
        sheet.reshape(layers * (count + 2), -1), cmap=style.HEAT, vmin=0, vmax=1,
        extent=(0.5, heads + 0.5, layers + 0.5, 0.5),
    )  # fmt: skip
    axes.set_xticks(range(1, heads + 1))
    axes.set_yticks(range(1, layers + 1))
    axes.set(xlabel="head", ylabel="layer")
    style.bare_image(axes)
    return figure


def position(tokens: Sequence[str], position: Position) -> Figure:
    """One token's scores, scaled scores and weights, and the weights without the scaling."""
    layers, heads, count = position.scores.shape
    rows = layers * heads
    panels = (
        (position.scores, "scores q·k", False),
        (position.scaled, "divided by √dₖ", False),
        (position.weights, "softmax of the divided: the weights", True),
        (position.unscaled_weights, "softmax of the scores, not divided", True),
    )
    figure = style.figure(max(style.WIDE, 90 + 22 * count), 130 + 4 * (46 + _row(rows, 16) * rows))
    largest = float(np.abs(position.scores).max())
    for axes, (values, title, is_weight) in zip(
        figure.subplots(4, 1, sharex=True), panels, strict=True
    ):
        low, high = (0, 1) if is_weight else (-largest, largest)
        image = axes.imshow(
            values.reshape(rows, count), aspect="auto", vmin=low, vmax=high,
            cmap=style.HEAT if is_weight else style.BALANCE,
        )  # fmt: skip
        axes.set_title(title, loc="left")
        _name_rows(axes, head_names(layers, heads))
        style.bare_image(axes)
        style.colour_bar(axes, image, pad=0.01, aspect=8)
    axes.set_xticks(range(count), tokens, rotation=90)
    return figure


def statistics(statistics: Statistics) -> Figure:
    """What each head is like, layer by head; a dot of the title's number is a uniform head's."""
    layers, heads = statistics.mean.entropy_share.shape
    cell = 34 if heads <= 12 else 18
    across = 3 if heads <= 4 else 2
    down = -(-len(STATISTICS) // across)
    figure = style.figure(
        max(style.WIDE, across * (60 + cell * heads)), down * (70 + cell * layers) + 10
    )
    places = figure.subplots(down, across, squeeze=False).flat
    for (name, title, digits), axes in zip(STATISTICS, places, strict=False):
        values = getattr(statistics.mean, name)
        baseline = float(getattr(statistics.uniform, name)[0, 0])
        high = max(1.0 if name != "distance_tokens" else 0.0, float(values.max()), baseline)
        axes.imshow(values, cmap=style.HEAT, vmin=0, vmax=high, aspect="auto")
        if values.size <= WRITTEN:
            for layer, head in np.ndindex(layers, heads):
                value = values[layer, head]
                style.on_heat(axes, head, layer, f"{value:.{digits}f}", value / high)
        axes.set_title(f"{title}\nuniform {baseline:.{digits}f}", fontsize=10)
        axes.set_xticks(range(heads), map(str, range(1, heads + 1)))
        axes.set_yticks(range(layers), map(str, range(1, layers + 1)))
        axes.set(xlabel="head", ylabel="layer")
        style.bare_image(axes)
    for axes in places:
        axes.set_visible(False)
    return figure


def scaling(statistics: Statistics) -> Figure:
    """The largest weight of a position, with and without the division by sqrt(d_k)."""
    with_, without = statistics.mean.largest_weight, statistics.mean.unscaled_largest_weight
    layers, heads = with_.shape
    names = head_names(layers, heads)
    figure, axes = style.panel(style.WIDE, 90 + _row(len(names), 20) * len(names))
    rows = np.arange(len(names))
    axes.hlines(rows, with_.ravel(), without.ravel(), color=style.colour("grid"), linewidth=3)
    for values, marker, role, label in (
        (with_, "o", "regime0", "divided by √dₖ"), (without, "D", "regime1", "not divided"),
    ):  # fmt: skip
        axes.scatter(
            values.ravel(), rows, s=34, marker=marker, color=style.colour(role), label=label,
            zorder=3,
        )  # fmt: skip
    uniform = float(statistics.uniform.largest_weight[0, 0])
    axes.axvline(
        uniform, color=style.colour("muted"), linewidth=0.8, linestyle="--", label="uniform head"
    )
    _name_rows(axes, names)
    axes.set(
        xlabel="largest weight of a position, mean", xlim=(0, 1),
        ylabel="layer.head", ylim=(len(names) - 0.5, -0.5),
    )  # fmt: skip
    style.legend_above(axes, 3)
    style.grid(axes, "x")
    return figure


def subspaces(layers: int, subspaces: Subspaces) -> Figure:
    """How many standard deviations from random subspaces each two heads are."""
    count = subspaces.rank.shape[1]
    z_PNN = overlaps(subspaces)
    most = max(3.0, float(np.nanmax(np.abs(z_PNN))))
    names = head_names(layers, count // layers)
    figure = style.figure(style.WIDE, 290)
    panels = figure.subplots(1, len(PROJECTIONS))
    for axes, name, z_NN in zip(panels, PROJECTIONS, z_PNN, strict=True):
        image = style.balance(axes, z_NN, most, digits=0 if count <= 8 else None)
        every = max(1, count // 12)
        axes.set_xticks(range(0, count, every), names[::every], rotation=90)
        axes.set_yticks(range(0, count, every), names[::every])
        axes.set_title(name)
        style.bare_image(axes)
    place = {"location": "bottom", "aspect": 40, "shrink": 0.6, "pad": 0.03}
    bar = style.colour_bar(panels, image, **place)
    bar.set_label("standard deviations above random")
    return figure


def overlaps(subspaces: Subspaces) -> NDArray[np.float64]:
    """`squared_cosine` in standard deviations from random, (P, N, N); NaN on the diagonal."""
    known = subspaces.deviation > 0
    away = subspaces.squared_cosine - subspaces.expected
    z_PNN = np.divide(away, subspaces.deviation, out=np.full_like(away, np.nan), where=known)
    z_PNN[:, np.eye(z_PNN.shape[1], dtype=bool)] = np.nan
    return z_PNN


def angles(subspaces: Subspaces) -> Figure:
    """Principal angles between the heads of a layer, beside random subspaces."""
    _, layers, heads, _, rank = subspaces.angles_degrees.shape
    one, other = np.triu_indices(heads, 1)
    figure = style.figure(style.WIDE, 260)
    panels = figure.subplots(1, len(PROJECTIONS), sharey=True)
    across = np.arange(1, rank + 1)
    for axes, name, angles_LHHk in zip(panels, PROJECTIONS, subspaces.angles_degrees, strict=True):
        for layer in range(layers):
            pairs = angles_LHHk[layer, one, other]
            if len(pairs):
                axes.plot(
                    across, pairs.mean(0), linewidth=1.4,
                    color=style.source_colour(layer), label=f"layer {layer + 1}",
                )  # fmt: skip
        axes.plot(
            across, subspaces.random_angles_degrees, color=style.colour("ink"), linewidth=1,
            linestyle="--", label="random",
        )  # fmt: skip
        axes.set_title(name)
        axes.set_ylim(0, 90)
        axes.set_yticks([0, 30, 60, 90])
        style.grid(axes)
    panels[0].set_ylabel("degrees")
    panels[1].set_xlabel("principal angle, from the smallest")
    panels[0].legend(fontsize=9, loc="lower right")
    return figure


def _row(rows: int, height: int) -> int:
    """Height of a row, in pixels: lower where there are many."""
    return height if rows <= READABLE else height // 4


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    every = 1 if len(names) <= READABLE else len(names) // 12
    axes.set_yticks(range(0, len(names), every), names[::every])


def _lower(weights_TT: Weights) -> Weights:
    """Without what a token cannot see, which stays blank."""
    later = np.triu(np.ones(weights_TT.shape[-2:], dtype=bool), 1)
    return np.where(later, np.nan, weights_TT)
