"""What the watch recorded, as figures and tags for MLflow: from a run under way, or from its files.

There are some fifty figures a reading, so of a long run only every so many readings are shown; all
of them stand in `watch.csv`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from andrea.config.tree import Config
from andrea.watching.alarms import Alarm, describe
from andrea.watching.recorded import Recorded

READINGS_SHOWN = 50  # of a run
ALARMS_SHOWN = 200  # of a regime, each at its step; later ones count in the readings


def steps_apart(config: Config) -> int:
    """Steps from one reading that is shown to the next."""
    every = config.watch.sample_every
    return every * math.ceil(config.scale.steps / every / READINGS_SHOWN)


def rows(recorded: Recorded, apart: int, since: int = 0) -> list[dict[str, float]]:
    """Figures by step, for every step with an alarm or with a reading that is shown.

    Args:
        recorded: by the watch of a regime; values that are None count as not there.

    Returns:
        `step`; `alarms`, the number up to there; where there is a reading also its figures and,
        over its samples, `sample_score` and `sample_original_score` (means) and
        `degenerate_share`.
    """
    alarms = [int(alarm["step"]) for alarm in recorded.alarms]
    by_step: dict[int, dict[str, float]] = {
        step: {} for step in alarms[:ALARMS_SHOWN] if step >= since
    }
    samples: dict[int, list[Mapping[str, Any]]] = {}
    for sample in recorded.samples:
        samples.setdefault(int(sample["step"]), []).append(sample)
    for reading in recorded.readings:
        step = int(reading["step"])
        if step >= since and (step + 1) % apart == 0:
            known = {name: x for name, x in reading.items() if name != "step" and x is not None}
            by_step[step] = known | _scores(samples.get(step, []))
    return [
        {"step": step, "alarms": bisect_right(alarms, step), **by_step[step]}
        for step in sorted(by_step)
    ]


def tags(alarms: Sequence[Alarm]) -> dict[str, str]:
    """Tags of a run with these alarms: how many, of what kinds, and the last in one line."""
    if not alarms:
        return {"alarms": "0"}
    kinds = Counter(str(alarm["kind"]) for alarm in alarms)
    return {
        "alarms": str(len(alarms)),
        "alarm.kinds": ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())),
        "alarm.last": describe(alarms[-1]),
    }


def _scores(samples: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    if not samples:
        return {}
    columns = {
        "sample_score": "score",
        "sample_original_score": "original_score",
        "degenerate_share": "degenerate",
    }
    return {
        shown: math.fsum(float(sample[name]) for sample in samples) / len(samples)
        for shown, name in columns.items()
    }
