"""The heads in a few numbers: means and extremes over all of them."""

from __future__ import annotations

from andrea.geometry.measure.result import Geometry


def metrics(geometry: Geometry) -> dict[str, float]:
    """Numbers by name."""
    heads = geometry.heads
    text, repeated = heads.text.mean, heads.repeated
    return {
        "capture_error": max(prompt.error for prompt in heads.prompts),
        "entropy_share": float(text.entropy_share.mean()),
        "largest_weight": float(text.largest_weight.mean()),
        "unscaled_entropy_share": float(text.unscaled_entropy_share.mean()),
        "unscaled_largest_weight": float(text.unscaled_largest_weight.mean()),
        "score_spread": float(text.score_spread.mean()),
        "distance_tokens": float(text.distance_tokens.mean()),
        "most_previous_token_weight": float(text.previous_token_weight.max()),
        "most_first_token_weight": float(text.first_token_weight.max()),
        "most_induction_weight": float(repeated.mean.induction_weight.max()),
        "uniform_induction_weight": float(repeated.uniform.induction_weight.max()),
    }


def summary(geometry: Geometry) -> str:
    """The chapter in a line."""
    numbers = metrics(geometry)
    return (
        f"heads: entropy share {numbers['entropy_share']:.2f}, without the division by sqrt(d_k)"
        f" {numbers['unscaled_entropy_share']:.2f}; strongest induction"
        f" {numbers['most_induction_weight']:.2f} (chance"
        f" {numbers['uniform_induction_weight']:.2f})"
    )
