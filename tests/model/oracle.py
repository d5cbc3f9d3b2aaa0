"""A readable second implementation of how a token is taken: one row, plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from andrea.model.filters import Sampling


def choice(
    logits: Sequence[float], sampling: Sampling, seen: AbstractSet[int], uniform: float
) -> int:
    """One token after the other, likelier first, until their share exceeds the uniform."""
    kept = shares(logits, sampling, seen)
    passed = 0.0
    for token, share in kept.items():
        passed += share
        if uniform * sum(kept.values()) < passed:
            return token
    raise AssertionError("the shares do not sum to 1")


def shares(logits: Sequence[float], sampling: Sampling, seen: AbstractSet[int]) -> dict[int, float]:
    """Weight of every token that may be drawn, likelier first, of equals by id; 1 for the first."""
    penalty = sampling.repetition_penalty
    judged = [
        (z / penalty if z > 0 else z * penalty) if token in seen else z
        for token, z in enumerate(logits)
    ]
    ranked = sorted(range(len(judged)), key=lambda token: (-judged[token], token))
    if sampling.temperature == 0:
        return {ranked[0]: 1.0}
    ranked = ranked[: sampling.top_k or None]
    powers = {
        token: math.exp((judged[token] - judged[ranked[0]]) / sampling.temperature)
        for token in ranked
    }
    total, passed, kept = sum(powers.values()), 0.0, {}
    for token, power in powers.items():
        if passed < sampling.top_p * total and power >= sampling.min_p:
            kept[token] = power
        passed += power
    return kept
