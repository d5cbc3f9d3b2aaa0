"""How often a run reads each source, and what is said of one that is read too often."""

from __future__ import annotations

import math
from collections.abc import Mapping

from andrea.common.errors import UserError
from andrea.config.outside import Limits
from andrea.config.tree import Config
from andrea.mixture.simplex import Region
from andrea.mixture.volume import centre


def planned_epochs(
    region: Region, steps: int, step_tokens: int, source_tokens: Mapping[str, int]
) -> dict[str, float]:
    """Readings of each source that `steps` steps in `region` add.

    The mixture is taken at the region's centre, which is the mean of the random phases; the bandit
    may read a source it favours more often. A source that has weight and no tokens is read
    infinitely often.

    Args:
        region: in the order of `source_tokens`.
        step_tokens: read by one step.
        source_tokens: training tokens of each source.
    """
    read = centre(region) * steps * step_tokens
    return {
        source: float(amount) / tokens if tokens else math.inf if amount > 0 else 0.0
        for (source, tokens), amount in zip(source_tokens.items(), read, strict=True)
    }


def warn_of_repeats(epochs: Mapping[str, float], limit: float) -> list[str]:
    """A line that lists the sources read more than `limits.warn_epochs` times, if there are any."""
    over = [source for source, count in epochs.items() if count > limit]
    if not over:
        return []
    over.sort(key=lambda source: -epochs[source])
    listed = ", ".join(f"{source} {epochs[source]:,.1f}" for source in over)
    return [
        f"planned readings above limits.warn_epochs={limit:g}: {listed}; expect the model to"
        " recite these sources (the bandit may read one more often still)"
    ]


def read_too_often(config: Config, epochs: float) -> str:
    """The highest of the two limits that a source's readings are above; empty for none."""
    if epochs > config.limits.max_epochs:
        return "limits.max_epochs"
    watched = config.watch.enabled and epochs > config.limits.warn_epochs
    return "limits.warn_epochs" if watched else ""


def refuse_repeats(epochs: Mapping[str, float], limits: Limits) -> None:
    """Refuse to read a source more than `max_epochs` times, unless `allow_repeats` is set.

    Raises:
        UserError: names the source that is read most often.
    """
    over = [source for source, count in epochs.items() if count > limits.max_epochs]
    if limits.allow_repeats or not over:
        return
    worst = max(over, key=lambda source: epochs[source])
    others = f" (and {len(over) - 1} more too often)" if len(over) > 1 else ""
    raise UserError(
        f"source {worst} would be read {epochs[worst]:,.0f} times{others}, limits.max_epochs is"
        f" {limits.max_epochs:g}; plan fewer steps, add text, or set limits.allow_repeats=true"
    )
