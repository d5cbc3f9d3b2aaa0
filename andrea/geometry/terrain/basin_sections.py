"""The chapter on the terrain, second part: how wide the basins are, and what they bear."""

from __future__ import annotations

import numpy as np

from andrea.geometry.page.section import Picture, Section, Table, listed
from andrea.geometry.terrain import figures as draw
from andrea.geometry.terrain.measure.basin import Comparison
from andrea.geometry.terrain.measure.result import Terrain

BATCHES = {"all": "text of all sources", "priority": "text of polish's own source"}


def basins(terrain: Terrain) -> Section:
    """Radii of every checkpoint, and the other measures of width."""
    every = terrain.basins
    by_batch = {batch: [one for one in every if one.batch == batch] for batch in BATCHES}
    common = by_batch["all"]
    last = common[-1]
    rho = ", ".join(f"{radius:g}" for radius in last.sharpness_radii)
    worst = [", ".join(f"{rise:.2f}" for rise in basin.sharpness.tolist()) for basin in every]
    tops = [basin.eigenvalue for basin in every]
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
        for batch, some in by_batch.items()
        if some
    ]
    sentences = [
        f"{basin.checkpoint} bears {basin.radii.quartiles[1, 0]:.3f}"
        f" ({basin.radii.quartiles[0, 0]:.3f} to {basin.radii.quartiles[2, 0]:.3f})"
        for basin in common
    ]
    table = Table.of(
        "Other measures",
        ("checkpoint", [basin.checkpoint for basin in every], ""),
        ("batch", [basin.batch for basin in every], ""),
        ("loss, nats", [basin.nats for basin in every], ".3f"),
        ("noise σ it bears", [basin.sigma.sigma for basin in every], ".4f"),
        (f"rise in the worst direction, nats, at ρ = {rho}", worst, ""),
        (
            "top Hessian eigenvalue",
            [f"{top.largest:.1f} ± {top.error:.1g}" if top else "" for top in tops],
            "",
        ),
    )
    return Section(
        "basins",
        "How wide is the basin?",
        "How far one can walk in a random direction before the loss has risen by a given amount;"
        " each dot is a direction, the bar runs from the lower to the upper quartile, the ring is"
        " the median. The table holds four other measures of the same thing.",
        "Look at the medians and at whether the bars overlap. A radius of 0.2 says that every row"
        " may change by a fifth of its length.",
        f"{listed(sentences)} until the loss has risen by {last.radii.rises_nats[0]:g} nats.",
        pictures,
        [table],
        terrain.caveats,
        {
            f"{basin.checkpoint}, {basin.batch}: radius at {rise:g} nats": float(radius)
            for basin in every
            for rise, radius in zip(basin.radii.rises_nats, basin.radii.quartiles[1], strict=True)
        },
    )


def judgement(terrain: Terrain) -> Section:
    """Whether polish moved the model to a wider basin, with the interval."""
    fair, unfair = (
        {judged.batch: judged.rows for judged in terrain.judgements if judged.against == other}
        for other in ("control", "firehose")
    )
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
    sentences = (
        "Without a control nothing can be concluded: set one as docs/geometry.md says, and look"
        " again."
    )
    if unfair:
        sentences += (
            " Against firehose, which still had a higher learning rate, this is what one sees."
        )
    return sentences


def critical(terrain: Terrain) -> Section:
    """The largest step that every source bears."""
    steep = terrain.steepness
    below = [one.source for one in steep if one.last.rate < terrain.rate]
    sources = [one.source for one in steep]
    ways = [
        ("last update", "the run's last update", [one.last for one in steep]),
        ("own update", "the source's own update", [one.own for one in steep]),
    ]
    pictures, columns = [], [("source", sources, "")]
    for head, name, steps in ways if steep else []:
        rates = [one.rate for one in steps]
        alternative = (
            f"Critical learning rate of each source along {name}, beside the last step's rate"
            f" {terrain.rate:.3g}."
        )
        pictures.append(
            Picture(draw.critical(sources, np.array(rates), terrain.rate, name), alternative)
        )
        sharp = [f"{one.sharpness:.0f}" if one.sharpness else "rises at once" for one in steps]
        columns += [(head, [f"{rate:.3g}" for rate in rates], ""), ("sharpness", sharp, "")]
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
        [Table.of("Critical learning rate and sharpness (2 / rate)", *columns)] if steep else [],
        metrics={f"critical rate, {one.source}": one.last.rate for one in steep},
    )
