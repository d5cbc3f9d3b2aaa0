"""The chapter on the terrain, in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from andrea.geometry.measure.result import Geometry
from andrea.geometry.page.section import Chapter, Picture, Section, Table, listed
from andrea.geometry.terrain import basin_sections as basins
from andrea.geometry.terrain import figures as draw
from andrea.geometry.terrain.measure.result import SNAPSHOT, Terrain
from andrea.geometry.walk.measure.result import Losses

Floats = NDArray[np.float64]

STRAIGHT = (
    "Nothing is known between the checkpoints, where the line is drawn straight: the run may have"
    " gone another way."
)
SMOOTH = (
    "Seen on its own principal components even a random walk in many dimensions is a smooth arc"
    " (Antognini and Sohl-Dickstein 2018). So a bend of the path says little; the loss along it and"
    " the distances from the plane say more."
)


def chapter(geometry: Geometry) -> Chapter:
    """The loss around a run's checkpoints."""
    terrain = geometry.terrain
    return Chapter(
        "terrain",
        "Terrain: training is a path",
        f"All {geometry.facts.parameters:,} weights together are one point, and the loss on a fixed"
        f" batch of {terrain.batch_tokens:,} held-out tokens is the height there. Training walks"
        " downhill. After every look around, the weights are put back bit for bit.",
        [
            _losses(geometry.losses),
            *([_plane(terrain)] if terrain.plane is not None else []),
            _slices(terrain),
            basins.basins(terrain),
            basins.judgement(terrain),
            basins.critical(terrain),
        ],
    )


def _losses(losses: Losses) -> Section:
    names = list(dict.fromkeys(losses.regime.tolist()))
    places = {name: losses.regime == name for name in names}
    curves = [(name, losses.step[at].astype(float), losses.loss[at]) for name, at in places.items()]
    cliffs = [alarm for alarm in losses.alarms if alarm["kind"] == "cliff"]
    shown, steps = cliffs[:20], [int(alarm["step"]) for alarm in cliffs]
    marked = [(step, float(np.interp(step, losses.step, losses.loss))) for step in steps]
    sources = listed(sorted({alarm["source"] for alarm in cliffs}))
    several = f"{len(cliffs)} cliff{'s' * (len(cliffs) > 1)}, in {sources}"
    sentence = f"The watch saw {several if cliffs else 'no cliff'}"
    picture = Picture(
        draw.loss_curve(curves, marked),
        f"Training loss over {int(losses.step[-1]):,} steps in {listed(names)}, from"
        f" {losses.loss[0]:.2f} to {losses.loss[-1]:.2f} nats, with {len(cliffs)} cliffs.",
    )
    table = Table.of(
        "Cliffs",
        ("step", [int(alarm["step"]) for alarm in shown], ","),
        ("source", [alarm["source"] for alarm in shown], ""),
        ("nats", [_number(alarm["nats"]) for alarm in shown], ""),
        ("median", [_number(alarm["median"]) for alarm in shown], ""),
        ("text", [alarm["text"][:80] for alarm in shown], ""),
    )
    return Section(
        "loss",
        "The way down",
        "The training loss by step, in nats per token: how surprised the network is by the next"
        " token. A triangle marks a cliff: a sequence whose loss fell so far below its source's"
        " that it is memorised rather than understood.",
        "Look at the jumps where a regime begins, because the text changes there. At a triangle,"
        " read the text in the table.",
        f"The loss went from {losses.loss[0]:.2f} to {losses.loss[-1]:.2f}. {sentence}.",
        [picture],
        [table],
        metrics={"last training loss": float(losses.loss[-1]), "cliffs": len(cliffs)},
    )


def _number(text: str) -> str:
    return f"{float(text):.2f}" if text else ""


def _plane(terrain: Terrain) -> Section:
    over_plane, names, steps = terrain.plane, terrain.plane_names, terrain.plane_steps
    assert over_plane is not None
    worst = int(over_plane.off_plane.argmax())
    at = f"the {SNAPSHOT} at step {steps[worst]:,}" if names[worst] == SNAPSHOT else names[worst]
    between = np.array(names) == SNAPSHOT
    count = int(between.sum())
    joined = f", through {count} snapshots between them (small points)," if count else ""
    picture = Picture(
        draw.plane(over_plane, names),
        f"Map of the loss over the plane of {listed([n for n in names if n != SNAPSHOT])}"
        " with the path of the run.",
        comparable=False,
    )
    table = Table.of(
        "Off the plane (Euclidean lengths; loss in nats per token)",
        ("point", names, ""),
        ("step", steps, ","),
        ("loss", over_plane.path_nats, ".3f"),
        ("loss of its shadow", over_plane.shadow_nats, ".3f"),
        ("distance from the plane", over_plane.off_plane, ".2f"),
    )
    return Section(
        "plane",
        "The path on the plane",
        "The plane on which the points of the run's path lie best, seen from above; colours and"
        f" lines are the loss there. The white line joins the checkpoints{joined} in the order of"
        " the run.",
        "Look at whether the path runs down a slope or along a valley, and whether a ridge lies"
        " between two checkpoints. Numbers on the lines are the loss.",
        f"The two axes hold {over_plane.explained.sum():.0%} of the variance of {len(names)}"
        f" points.{_beside(over_plane.off_plane[between])} Farthest from the plane is {at}, by"
        f" {over_plane.off_plane[worst]:.2f}, on a path"
        f" {_length(over_plane.path[np.array(names) != 'control']):.1f} long: the map shows the"
        f" ground under its shadow, where the loss is {over_plane.shadow_nats[worst]:.2f} and not"
        f" {over_plane.path_nats[worst]:.2f}.",
        [picture],
        [table],
        [SMOOTH if count else STRAIGHT],
        metrics={
            "share of variance in the plane": float(over_plane.explained.sum()),
            "largest distance from the plane": float(over_plane.off_plane.max()),
        },
    )


def _beside(distances: Floats) -> str:
    """How far the snapshots are from the plane; empty where there are none."""
    if not len(distances):
        return ""
    return (
        f" The {SNAPSHOT}s lie {distances.min():.2f} to {distances.max():.2f} beside the plane,"
        f" {float(np.median(distances)):.2f} at the median."
    )


def _length(path: Floats) -> float:
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


def _slices(terrain: Terrain) -> Section:
    cut = [(basin, basin.slices) for basin in terrain.basins if basin.slices is not None]
    ends = [
        f"{np.median(one.nats[:, [0, -1]]) - basin.nats:+.2f} nats around {basin.checkpoint}"
        for basin, one in cut
    ]
    by_checkpoint = [(basin.checkpoint, one) for basin, one in cut]
    names = listed([name for name, _ in by_checkpoint])
    return Section(
        "slices",
        "Slices through the checkpoints",
        "From each checkpoint we walk straight on in random directions and measure the loss. Every"
        " row of every matrix moves by the same share of its own length, so that large and small"
        " rows are treated alike.",
        "Look at how soon the curves leave the bottom, and whether they agree. A curve that dips"
        " below its middle says that the batch is not at its minimum there.",
        f"At the ends of the slices, {by_checkpoint[0][1].distances[-1]:g} away, the median rise is"
        f" {listed(ends)}."
        if by_checkpoint
        else "None was drawn.",
        [Picture(draw.slices(by_checkpoint), f"Loss along random directions through {names}.")]
        if by_checkpoint
        else [],
    )
