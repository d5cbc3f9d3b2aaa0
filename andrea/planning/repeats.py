"""How often a run reads each source, and what is said of one that is read too often."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from andrea.common.errors import UserError
from andrea.config.curriculum import Curriculum
from andrea.mixture.simplex import Region
from andrea.mixture.volume import centre


def planned_epochs(
    region: Region, steps: int, step_tokens: int, source_tokens: Mapping[str, int]
) -> dict[str, float]:
    """Readings of each source that `steps` steps in `region` add.

    The mixture is taken at the region's centre, which is the mean of the random phases; the bandit
    may read a source it favours more often.

    Args:
        region: of one regime, in the order of `source_tokens`.
        steps: of the regime.
        step_tokens: read by one step.
        source_tokens: training tokens of each source.

    Returns:
        Epochs by source; infinite for a source that has weight and no tokens.
    """
    read = centre(region) * steps * step_tokens
    return {
        source: float(amount) / tokens if tokens else math.inf if amount > 0 else 0.0
        for (source, tokens), amount in zip(source_tokens.items(), read, strict=True)
    }


def warn_of_repeats(epochs: Mapping[str, float], limit: float) -> list[str]:
    """One line that lists the sources planned to be read more than `limit` times.

    Args:
        epochs: of each source by the end of what is planned.
        limit: `watch.max_epochs`.

    Returns:
        The line, most often read first; none where there is no such source.
    """
    over = [source for source, count in epochs.items() if count > limit]
    if not over:
        return []
    over.sort(key=lambda source: -epochs[source])
    listed = ", ".join(f"{source} {epochs[source]:,.1f}" for source in over)
    return [
        f"planned readings above watch.max_epochs={limit:g}: {listed}; expect the model to"
        " recite these sources (the bandit may read one more often still)"
    ]


def read_too_often(params: Mapping[str, Any], epochs: float) -> str:
    """The highest of the two limits that a source's readings are above; empty for none.

    Args:
        params: valid ones.
        epochs: of the source in the whole run.
    """
    if epochs > params["curriculum"]["max_epochs"]:
        return "curriculum.max_epochs"
    watched = params["watch"]["enabled"] and epochs > params["watch"]["max_epochs"]
    return "watch.max_epochs" if watched else ""


def refuse_repeats(epochs: Mapping[str, float], cfg: Curriculum) -> None:
    """Refuse to read a source more than `max_epochs` times, unless `allow_repeats` is set.

    Args:
        epochs: of each source by the end of what is planned.
        cfg: the limit.

    Raises:
        UserError: names the source that is read most often.
    """
    over = [source for source, count in epochs.items() if count > cfg.max_epochs]
    if cfg.allow_repeats or not over:
        return
    worst = max(over, key=lambda source: epochs[source])
    others = f" (and {len(over) - 1} more too often)" if len(over) > 1 else ""
    raise UserError(
        f"source {worst} would be read {epochs[worst]:,.0f} times{others}, curriculum.max_epochs is"
        f" {cfg.max_epochs:g}; plan fewer steps, add text, or set curriculum.allow_repeats=true"
    )
