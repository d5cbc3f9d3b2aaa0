"""The chapter on the terrain, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from andrea.geometry.basin import Comparison
from andrea.report.chapters.section import Chapter, Picture, Section, Table, listed
from andrea.report.figures import terrain as draw
from andrea.report.geometry import Basin, Geometry, Losses, Steepness, Terrain

BATCHES = {"all": "text of all sources", "priority": "text of polish's own source"}


def chapter(geometry: Geometry) -> Chapter:
    """The loss around a run's checkpoints."""
    terrain = geometry.terrain
    sections = [_losses(geometry.losses)]
    if terrain.plane is not None:
        sections.append(_plane(terrain))
    sections += [_slices(terrain), _basins(terrain), _judgement(terrain), _critical(terrain)]
    return Chapter(
        "terrain",
        "Terrain: training is a path",
        f"All {geometry.facts.parameters:,} weights together are one point, and the loss on a fixed"
        f" batch of {terrain.batch_tokens:,} held-out tokens is the height there. Training walks"
        " downhill. After every look around, the weights are put back bit for bit.",
        sections,
    )


def _losses(losses: Losses) -> Section:
    names = list(dict.fromkeys(losses.regime.tolist()))
    curves = []
    for name in names:
        here = losses.regime == name
        curves.append((name, losses.step[here].astype(np.float64), losses.loss[here]))
    cliffs = [alarm for alarm in losses.alarms if alarm["kind"] == "cliff"]
    marked = [
        (int(alarm["step"]), float(np.interp(int(alarm["step"]), losses.step, losses.loss)))
        for alarm in cliffs
    ]
    told = (
        f"The watch saw {len(cliffs)} cliff{'s' * (len(cliffs) > 1)}, in "
        + listed(sorted({alarm["source"] for alarm in cliffs}))
        if cliffs
        else "The watch saw no cliff"
    )
    return Section(
        "loss",
        "The way down",
        "The training loss by step, in nats per token: how surprised the network is by the next"
        " token. A triangle marks a cliff: a sequence whose loss fell so far below its source's"
        " that it is memorised rather than understood.",
        "Look at the jumps where a regime begins, because the text changes there. At a triangle,"
        " read the text in the table.",
        f"The loss went from {losses.loss[0]:.2f} to {losses.loss[-1]:.2f}. {told}.",
        [
            Picture(
                draw.loss_curve(curves, marked),
                f"Training loss over {int(losses.step[-1]):,} steps in {listed(names)}, from"
                f" {losses.loss[0]:.2f} to {losses.loss[-1]:.2f} nats, with {len(cliffs)} cliffs.",
            )
        ],
        [
            Table(
                "Cliffs",
                ("step", "source", "nats", "median", "text"),
                [
                    (
                        f"{int(alarm['step']):,}",
                        alarm["source"],
                        _number(alarm["nats"]),
                        _number(alarm["median"]),
                        alarm["text"][:80],
                    )
                    for alarm in cliffs[:20]
                ],
            )
        ],
        figures={"last training loss": float(losses.loss[-1]), "cliffs": len(cliffs)},
    )


def _number(text: str) -> str:
    return f"{float(text):.2f}" if text else ""


def _plane(terrain: Terrain) -> Section:
    found, names = terrain.plane, terrain.plane_checkpoints
    assert found is not None
    rows = [
        (name, f"{nats:.3f}", f"{shadow:.3f}", f"{off:.2f}")
        for name, nats, shadow, off in zip(
            names, found.path_nats.tolist(), found.shadow_nats.tolist(), found.off_plane.tolist(),
            strict=True,
        )
    ]  # fmt: skip
    worst = int(found.off_plane.argmax())
    return Section(
        "plane",
        "The path on the plane",
        "The plane on which the checkpoints lie best, seen from above; colours and lines are the"
        " loss there. The white line joins the checkpoints in the order of the run.",
        "Look at whether the path runs down a slope or along a valley, and whether a ridge lies"
        " between two checkpoints. Numbers on the lines are the loss.",
        f"The two axes hold {found.explained.sum():.0%} of the checkpoints' variance. Farthest from"
        f" the plane is {names[worst]}, by {found.off_plane[worst]:.2f}, on a path"
        f" {_length(found.path):.1f} long: the map shows the ground under its shadow, where the"
        f" loss is {found.shadow_nats[worst]:.2f} and not {found.path_nats[worst]:.2f}.",
        [
            Picture(
                draw.plane(found, names),
                f"Map of the loss over the plane of {listed(names)} with the path of the run.",
                comparable=False,
            )
        ],
        [
            Table(
                "Off the plane (Euclidean lengths; loss in nats per token)",
                ("checkpoint", "loss", "loss of its shadow", "distance from the plane"),
                rows,
            )
        ],
        figures={
            "share of variance in the plane": float(found.explained.sum()),
            "largest distance from the plane": float(found.off_plane.max()),
        },
    )


def _length(path: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


def _slices(terrain: Terrain) -> Section:
    found = [(b.checkpoint, b.slices) for b in terrain.basins if b.slices is not None]
    ends = [
        f"{float(np.median(one.nats[:, [0, -1]]) - basin.nats):+.2f} nats around {name}"
        for (name, one), basin in zip(
            found, [b for b in terrain.basins if b.slices is not None], strict=True
        )
    ]
    return Section(
        "slices",
        "Slices through the checkpoints",
        "From each checkpoint we walk straight on in random directions and measure the loss. Every"
        " row of every matrix moves by the same share of its own length, so that large and small"
        " rows are treated alike.",
        "Look at how soon the curves leave the bottom, and whether they agree. A curve that dips"
        " below its middle says that the batch is not at its minimum there.",
        f"At the ends of the slices, {found[0][1].distances[-1]:g} away, the median rise is"
        f" {listed(ends)}."
        if found
        else "None was drawn.",
        [
            Picture(
                draw.slices(found),
                f"Loss along random directions through {listed([name for name, _ in found])}.",
            )
        ]
        if found
        else [],
    )


def _basins(terrain: Terrain) -> Section:
    common = [basin for basin in terrain.basins if basin.batch == "all"]
    own = [basin for basin in terrain.basins if basin.batch == "priority"]
    last = common[-1]
    radii = ", ".join(f"{radius:g}" for radius in last.sharpness_radii)
    pictures = [
        Picture(
            draw.basins([(basin.checkpoint, basin.radii) for basin in some]),
            f"Radii along random directions on {BATCHES[batch]}: "
            + "; ".join(
                f"{basin.checkpoint} {basin.radii.quartiles[1, 0]:.3f} in the median"
                for basin in some
            ),
            f"On {BATCHES[batch]}.",
        )
        for batch, some in (("all", common), ("priority", own))
        if some
    ]
    return Section(
        "basins",
        "How wide is the basin?",
        "How far one can walk in a random direction before the loss has risen by a given amount;"
        " each dot is a direction, the bar runs from the lower to the upper quartile, the ring is"
        " the median. The table holds four other measures of the same thing.",
        "Look at the medians and at whether the bars overlap. A radius of 0.2 says that every row"
        " may change by a fifth of its length.",
        listed(
            [
                f"{basin.checkpoint} bears {basin.radii.quartiles[1, 0]:.3f}"
                f" ({basin.radii.quartiles[0, 0]:.3f} to {basin.radii.quartiles[2, 0]:.3f})"
                for basin in common
            ]
        )
        + f" until the loss has risen by {last.radii.rises_nats[0]:g} nats.",
        pictures,
        [
            Table(
                "Other measures",
                (
                    "checkpoint", "batch", "loss, nats", "noise σ it bears",
                    f"rise in the worst direction, nats, at ρ = {radii}", "top Hessian eigenvalue",
                ),
                [_basin_row(basin) for basin in terrain.basins],
            )
        ],
        terrain.caveats,
        {
            f"{basin.checkpoint}, {basin.batch}: radius at {rise:g} nats": float(radius)
            for basin in terrain.basins
            for rise, radius in zip(
                basin.radii.rises_nats, basin.radii.quartiles[1].tolist(), strict=True
            )
        },
    )  # fmt: skip


def _basin_row(basin: Basin) -> tuple[str, ...]:
    worst = ", ".join(f"{rise:.2f}" for rise in basin.sharpness.tolist())
    top = basin.eigenvalue
    return (
        basin.checkpoint,
        basin.batch,
        f"{basin.nats:.3f}",
        f"{basin.sigma.sigma:.4f}",
        worst,
        f"{top.largest:.1f} ± {top.error:.1g}" if top else "",
    )


def _judgement(terrain: Terrain) -> Section:
    fair = {
        judgement.batch: judgement.rows
        for judgement in terrain.judgements
        if judgement.against == "control"
    }
    unfair = {
        judgement.batch: judgement.rows
        for judgement in terrain.judgements
        if judgement.against == "firehose"
    }
    shown = fair or unfair
    tables = [
        Table(
            f"Median radius with polish, and of {name}",
            ("batch, rise", "with polish", name, "difference", "95 % interval", "answer"),
            [_row(batch, row) for batch, rows in some.items() for row in rows],
        )
        for name, some in (("the control", fair), ("firehose (no fair comparison)", unfair))
        if some
    ]
    return Section(
        "wider",
        "Did polish move the model to a wider basin?",
        "A run without polish that ends at the same step is the control, because a falling learning"
        " rate alone changes the width. The bar is the 95 % interval of the difference of the"
        " median radii, over the same directions in both runs.",
        "Look at whether the bar is on one side of 0. If it is not, the honest answer is:"
        " undecided.",
        _answer(fair) if fair else _no_control(unfair),
        [
            Picture(
                draw.comparison(shown),
                "Difference of median radii with its interval: "
                + "; ".join(
                    f"{batch}, {row.rise_nats:g} nats: {row.difference:+.4f}"
                    for batch, rows in shown.items()
                    for row in rows
                ),
                "" if fair else "Against firehose: no fair comparison.",
            )
        ]
        if shown
        else [],
        tables,
        terrain.caveats,
    )


def _row(batch: str, row: Comparison) -> tuple[str, ...]:
    return (
        f"{batch}, {row.rise_nats:g}", f"{row.with_polish:.4f}", f"{row.without_polish:.4f}",
        f"{row.difference:+.4f}", f"{row.low:+.4f} to {row.high:+.4f}", row.answer,
    )  # fmt: skip


def _answer(fair: dict[str, tuple[Comparison, ...]]) -> str:
    parts = []
    for batch, rows in fair.items():
        answers = {row.answer for row in rows}
        word = answers.pop() if len(answers) == 1 else "it depends on the rise of the loss"
        first = rows[0]
        parts.append(
            f"On {BATCHES[batch]}: {word} ({first.with_polish:.3f} against"
            f" {first.without_polish:.3f} at {first.rise_nats:g} nats, difference"
            f" {first.difference:+.3f}, interval {first.low:+.3f} to {first.high:+.3f})."
        )
    return " ".join(parts) + " One run against one run: another seed may answer otherwise."


def _no_control(unfair: dict[str, tuple[Comparison, ...]]) -> str:
    told = "Without a control nothing can be concluded: set one as the README says, and look again."
    if unfair:
        told += " Against firehose, which still had a higher learning rate, this is what one sees."
    return told


def _critical(terrain: Terrain) -> Section:
    steep = terrain.steepness
    below = [one.source for one in steep if one.last.rate < terrain.rate]
    pictures = [
        Picture(
            draw.critical(
                [one.source for one in steep],
                np.array([getattr(one, field).rate for one in steep]),
                terrain.rate,
                name,
            ),
            f"Critical learning rate of each source along {name}, beside the last step's rate"
            f" {terrain.rate:.3g}.",
        )
        for field, name in (("last", "the run's last update"), ("own", "the source's own update"))
    ] if steep else []  # fmt: skip
    return Section(
        "critical",
        "How large a step does each source bear?",
        "We go on along the last update and ask how far, before the loss on a source ends above its"
        " start. The second picture asks the same along the update which that source alone would"
        " want.",
        "Look for sources left of the dashed line: the run's own steps, with this mixture, make"
        " them worse. Along its own update a short line is a narrow valley.",
        f"The last step had a rate of {terrain.rate:.3g}. "
        + (
            f"It is beyond what {listed(below)} bear{'s' * (len(below) == 1)}."
            if below
            else "Every source bears more."
        ),
        pictures,
        [_critical_table(steep)] if steep else [],
        figures={f"critical rate, {one.source}": one.last.rate for one in steep},
    )


def _critical_table(steep: Sequence[Steepness]) -> Table:
    def sharp(value: float | None) -> str:
        return "rises at once" if value is None else f"{value:.0f}"

    return Table(
        "Critical learning rate and sharpness (2 / rate)",
        ("source", "last update", "sharpness", "own update", "sharpness"),
        [
            (
                one.source, f"{one.last.rate:.3g}", sharp(one.last.sharpness),
                f"{one.own.rate:.3g}", sharp(one.own.sharpness),
            )
            for one in steep
        ],
    )  # fmt: skip
