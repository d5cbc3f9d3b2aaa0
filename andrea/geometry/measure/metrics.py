"""The geometry of a run in a few dozen numbers: what a comparison of experiments looks at first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from andrea.geometry.heads.measure.result import Heads
from andrea.geometry.measure.result import Geometry
from andrea.geometry.terrain.measure.result import Basin, Terrain
from andrea.geometry.vectors.measure.result import Related, Vectors
from andrea.geometry.walk.measure import summary as walk_summary
from andrea.geometry.walk.measure.result import Walk

Numbers = dict[str, Any]


def metrics(found: Geometry) -> Numbers:
    """Numbers by name, all finite; what is not known is left out."""
    names = found.facts.checkpoints
    numbers = {
        "vectors": vectors(found.vectors, names),
        "heads": heads(found.heads),
        "terrain": terrain(found.terrain),
        "walk": walk(found.walk),
    }
    kept: Numbers = _finite(numbers)
    return kept


def vectors(found: Vectors, names: tuple[str, ...]) -> Numbers:
    """Of the last table, and of its way there."""
    last, top = found.spectra[-1], found.components[-1]
    numbers: Numbers = {
        "effective_rank": last.effective_rank,
        "participation_ratio": last.participation_ratio,
        "isotropy": last.isotropy,
        "mean_cosine": found.cosines[-1].any_pair,
        "mean_cosine_same_frequency": found.cosines[-1].same_bin,
        "first_component_share": float(top.shares[0]),
        "first_component_frequency_correlation": float(top.correlation[0]),
        "never_read_tokens": int((found.counts == 0).sum()),
        "moved": {
            f"{name}_apart": step.apart for name, step in zip(names[1:], found.drift, strict=False)
        },
        "moved_beyond_rotation": found.drift[-1].rotated_off,
        "cka": {
            f"{one}_{other}": float(found.similarity.cka[place, place + 1])
            for place, (one, other) in enumerate(pairwise(names))
        },
        "cka_first_last": float(found.similarity.cka[0, -1]),
    }
    for row in found.related:
        if row.checkpoint == names[-1] and row.found is not None:
            numbers["related_same_part" if row.same_part else "related"] = related(row)
    return numbers


def related(row: Related) -> Numbers:
    """How much closer related words are than random ones, with the interval."""
    assert row.found is not None
    return {
        "pairs": len(row.found.pairs),
        "difference": row.found.difference,
        "low": row.found.low,
        "high": row.found.high,
        "wins": row.found.wins,
    }


def heads(found: Heads) -> Numbers:
    """Means and extremes over all heads."""
    text, repeated = found.text.mean, found.repeated.mean
    return {
        "capture_error": max(prompt.error for prompt in found.prompts),
        "entropy_share": float(text.entropy_share.mean()),
        "largest_weight": float(text.largest_weight.mean()),
        "unscaled_entropy_share": float(text.unscaled_entropy_share.mean()),
        "unscaled_largest_weight": float(text.unscaled_largest_weight.mean()),
        "score_spread": float(text.score_spread.mean()),
        "distance_tokens": float(text.distance_tokens.mean()),
        "most_previous_token_weight": float(text.previous_token_weight.max()),
        "most_first_token_weight": float(text.first_token_weight.max()),
        "most_induction_weight": float(repeated.induction_weight.max()),
        "uniform_induction_weight": float(found.repeated.uniform.induction_weight.max()),
    }


def terrain(found: Terrain) -> Numbers:
    """Widths by checkpoint and batch, and the comparison with a control, if there is one."""
    numbers: Numbers = {}
    for basin in found.basins:
        numbers.setdefault(basin.batch, {})[basin.checkpoint] = widths(basin)
    for judged in found.judgements:
        if judged.against == "control":
            for row in judged.rows:
                numbers[f"{judged.batch}_against_control_{row.rise_nats:g}_nats"] = {
                    "difference": row.difference,
                    "low": row.low,
                    "high": row.high,
                    "answer": row.answer,
                }
    numbers["control"] = found.control or "none"
    if found.plane is not None:
        numbers["largest_off_plane"] = float(found.plane.off_plane.max())
        numbers["plane_explained"] = float(found.plane.explained.sum())
    if found.steepness:
        rates = [row.last.rate for row in found.steepness]
        numbers["rate"] = found.rate
        numbers["smallest_critical_rate"] = min(rates)
        numbers["sources_hurt_by_the_last_step"] = sum(rate < found.rate for rate in rates)
    return numbers


def widths(basin: Basin) -> Numbers:
    """The measures of one basin."""
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


def walk(found: Walk) -> Numbers:
    """Numbers of the walk."""
    return dict(
        walk_summary.metrics(
            found.sizes, found.where, found.shares, found.faces, found.plane.explained
        )
    )


def summary(found: Geometry) -> list[str]:
    """What was seen, in a few lines."""
    numbers = metrics(found)
    table, seen = numbers["vectors"], numbers["heads"]
    lines = [
        f"vectors: effective rank {table['effective_rank']:.1f} of {found.facts.width}",
        f"heads: entropy share {seen['entropy_share']:.2f}, without the division by sqrt(d_k)"
        f" {seen['unscaled_entropy_share']:.2f}; strongest induction"
        f" {seen['most_induction_weight']:.2f} (chance {seen['uniform_induction_weight']:.2f})",
    ]
    if "related" in table:
        row = table["related"]
        lines[0] += (
            f"; related words closer by {row['difference']:+.4f} ({row['low']:+.4f} to"
            f" {row['high']:+.4f}, {row['pairs']} pairs)"
        )
    lines += [_judged(found.terrain)]
    where = ", ".join(
        f"{row.regime} {row.entropy[1]:.2f} ({row.kind})"
        for row in found.walk.where
        if row.kind != "chance"
    )
    return [*lines, f"walk: median entropy in nats {where}"]


def _judged(found: Terrain) -> str:
    fair = [judged for judged in found.judgements if judged.against == "control"]
    if not fair:
        return "terrain: no control, so nothing can be said of what polish did to the basin's width"
    rows = "; ".join(
        f"{row.answer} on {judged.batch} at {row.rise_nats:g} nats, by {row.difference:+.4f}"
        f" ({row.low:+.4f} to {row.high:+.4f})"
        for judged in fair
        for row in judged.rows
    )
    return f"terrain: against the control polish is {rows}"


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        found = {key: _finite(one) for key, one in value.items()}
        return {key: one for key, one in found.items() if one is not None}
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value
