"""Pictures of the token table: a map of words, its spectrum, its movement, related words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from andrea.geometry.page import style
from andrea.geometry.vectors.measure.closeness import Closeness
from andrea.geometry.vectors.measure.drift import Movement, Similarity
from andrea.geometry.vectors.measure.embeddings import Map
from andrea.geometry.vectors.measure.spectrum import Components, Cosines, Spectrum

MAP = 680  # pixels; narrower screens scroll it
GAP = 0.5  # pixels between two labels
NOTHING = 1e-9  # share of the variance that is only rounding


def word_map(words: Sequence[str], placed: Map) -> Figure:
    """Words in the plane; a label that would cover an earlier one is left out, its dot stays.

    Args:
        words: the most important first.
    """
    figure, axes = style.panel(MAP, MAP)
    axes.scatter(
        placed.places[:, 0], placed.places[:, 1], s=3, color=style.colour("grid"), linewidths=0
    )
    axes.set_aspect("equal", "datalim")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    names = [f"{axis} ({share:.0%} of the variance)" for axis, share in zip(
        ("first axis", "second axis"), placed.shares, strict=False)]  # fmt: skip
    if names:
        axes.set(xlabel=names[0], ylabel=names[1])
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # labels are measured against these axes
    taken: list[Bbox] = []
    for word, (x, y) in zip(words, placed.places, strict=True):
        label = axes.text(x, y, word, ha="center", va="center", fontsize=9)
        box = label.get_window_extent().padded(GAP)
        inside = axes.bbox.x0 <= box.x0 and box.x1 <= axes.bbox.x1
        if not inside or any(box.overlaps(other) for other in taken):
            label.remove()
        else:
            taken.append(box)
    return figure


def spectrum(tables: Sequence[tuple[str, Spectrum]]) -> Figure:
    """Share of the variance along each component, for the initial table and after each regime."""
    figure, axes = style.panel(style.WIDE, 300)
    for name, one in tables:
        axes.plot(
            np.arange(1, len(one.shares) + 1),
            np.where(one.shares > NOTHING, one.shares, np.nan), label=name,
            color=style.regime_colour(name), linewidth=1.6,
        )  # fmt: skip
    width = len(tables[0][1].shares)
    axes.axhline(1 / width, color=style.colour("muted"), linewidth=0.8, linestyle="--")
    axes.text(width, 1 / width, "a ball", ha="right", va="bottom", color=style.colour("muted"))
    style.logarithmic(axes.yaxis)
    axes.set(xlabel="component", ylabel="share of the variance")
    axes.legend()
    style.grid(axes)
    return figure


def components(top: Components) -> Figure:
    """What the largest components have to do with frequency."""
    figure, axes = style.panel(style.WIDE, 230)
    places = np.arange(1, len(top.shares) + 1)
    axes.bar(places, top.correlation, width=0.7, color=style.colour("regime0"))
    axes.axhline(0, color=style.colour("muted"), linewidth=0.8)
    axes.set_ylim(-1, 1)
    axes.set_xticks(
        places, [f"{n}\n{share:.0%}" for n, share in zip(places, top.shares, strict=True)]
    )
    axes.set(
        xlabel="component, and its share of the variance", ylabel="correlation with\nlog frequency"
    )
    style.grid(axes)
    return figure


def cosines(labels: Sequence[str], cosines: Cosines) -> Figure:
    """Mean cosine of rows of two bins of frequency."""
    figure, axes = style.panel(440, 380)
    most = float(np.nanmax(np.abs(cosines.by_bins)))
    style.balance(axes, cosines.by_bins, most, digits=2)
    axes.set_xticks(range(len(labels)), labels, rotation=35, ha="right")
    axes.set_yticks(range(len(labels)), labels)
    axes.set(xlabel="occurrences of the one token", ylabel="of the other")
    style.bare_image(axes)
    return figure


def movement(regimes: Sequence[str], labels: Sequence[str], moved: Movement) -> Figure:
    """How far tokens are from their first place, and how much of it they remember, by frequency."""
    figure = style.figure(style.WIDE, 460)
    far, alike = figure.subplots(2, 1, sharex=True)
    for axes, quartiles, name in (
        (far, moved.from_start_quartiles, "distance from\nthe first place"),
        (alike, moved.cosine_quartiles, "cosine with\nthe first place"),
    ):
        for place, regime in enumerate(regimes):
            low, middle, high = quartiles[place].T
            across = np.arange(len(labels)) + 0.12 * (place - (len(regimes) - 1) / 2)
            axes.errorbar(
                across, middle, [middle - low, high - middle], fmt="o-", markersize=4,
                linewidth=1.2, color=style.regime_colour(regime), label=f"after {regime}",
            )  # fmt: skip
        axes.set_ylabel(name)
        style.grid(axes)
    far.legend()
    alike.set_xticks(range(len(labels)), labels, rotation=25, ha="right")
    alike.set_xlabel("occurrences of the token in the text")
    return figure


def similarity(names: Sequence[str], similarity: Similarity) -> Figure:
    """CKA of every two tables; below it what unrelated tables would have."""
    figure, axes = style.panel(400, 340)
    axes.imshow(similarity.cka, cmap=style.HEAT, vmin=0, vmax=1)
    for row, column in np.ndindex(*similarity.cka.shape):
        text = f"{similarity.cka[row, column]:.2f}"
        if row != column:
            text += f"\n({similarity.chance[row, column]:.2f})"
        style.on_heat(axes, column, row, text, float(similarity.cka[row, column]))
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(names)), names)
    style.bare_image(axes)
    return figure


def closeness(closeness: Closeness) -> Figure:
    """Cosines of related pairs beside those of strangers of the same frequency."""
    figure, axes = style.panel(style.WIDE, 260)
    both = np.concatenate([closeness.related, closeness.strange])
    edges = np.linspace(both.min(), both.max(), 41)
    for values, role, name in (
        (closeness.strange, "muted", "random words, same frequency"),
        (closeness.related, "regime1", "related words"),
    ):
        axes.hist(
            values, edges.tolist(), density=True, histtype="step", linewidth=1.8,
            color=style.colour(role), label=name,
        )  # fmt: skip
        axes.axvline(values.mean(), color=style.colour(role), linewidth=1, linestyle="--")
    axes.set_xlabel("cosine (dashed: mean)")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    style.legend_above(axes, 2)
    return figure
