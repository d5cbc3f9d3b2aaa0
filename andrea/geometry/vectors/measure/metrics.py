"""The last token table in a few numbers, and its way there."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from andrea.geometry.measure.result import Geometry


def metrics(geometry: Geometry) -> dict[str, Any]:
    """Numbers by name."""
    vectors, names = geometry.vectors, geometry.facts.checkpoints
    last, top, similarity = vectors.spectra[-1], vectors.components[-1], vectors.similarity
    numbers: dict[str, Any] = {
        "effective_rank": last.effective_rank,
        "participation_ratio": last.participation_ratio,
        "isotropy": last.isotropy,
        "mean_cosine": vectors.cosines[-1].any_pair,
        "mean_cosine_same_frequency": vectors.cosines[-1].same_bin,
        "first_component_share": float(top.shares[0]),
        "first_component_frequency_correlation": float(top.correlation[0]),
        "never_read_tokens": int((vectors.counts == 0).sum()),
        "moved": {
            f"{name}_apart": step.apart
            for name, step in zip(names[1:], vectors.drift, strict=False)
        },
        "moved_beyond_rotation": vectors.drift[-1].rotated_off,
        "cka": {
            f"{one}_{other}": float(similarity.cka[place, place + 1])
            for place, (one, other) in enumerate(pairwise(names))
        },
        "cka_first_last": float(similarity.cka[0, -1]),
    }
    for row in vectors.related:
        if row.checkpoint == names[-1] and row.found is not None:
            shown = ("difference", "low", "high", "wins")
            numbers["related_same_part" if row.same_part else "related"] = {
                "pairs": len(row.found.pairs),
                **{key: getattr(row.found, key) for key in shown},
            }
    return numbers


def summary(geometry: Geometry) -> str:
    """The chapter in a line."""
    numbers = metrics(geometry)
    line = f"vectors: effective rank {numbers['effective_rank']:.1f} of {geometry.facts.width}"
    if "related" in numbers:
        row = numbers["related"]
        line += (
            f"; related words closer by {row['difference']:+.4f} ({row['low']:+.4f} to"
            f" {row['high']:+.4f}, {row['pairs']} pairs)"
        )
    return line
