"""From numbers by source to the metrics of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from andrea.evaluation import memorization
from andrea.evaluation.baselines import mean_and_worst

if TYPE_CHECKING:
    from andrea.evaluation.run import Measured

BySource = Mapping[str, float]


def metrics(
    measured: Mapping[str, Measured],
    regimes: Mapping[str, Mapping[str, Any]],
    tokenizer_weights: BySource,
    sources: Sequence[str],
) -> dict[str, Any]:
    """Metrics of the evaluation; `regimes` are those of training, `sources` are without `ood`."""
    polish, firehose = (measured[name].bits_per_byte for name in ("polish", "firehose"))
    return {
        **{name: over_sources(one.bits_per_byte, sources) for name, one in measured.items()},
        "polish_minus_firehose": {name: polish[name] - firehose[name] for name in polish},
        "epochs": regimes["polish"]["epochs"],
        **shares(regimes, tokenizer_weights, sources),
        "memorization": {name: memorization.overall(one.recited) for name, one in measured.items()},
    }


def over_sources(by_source: BySource, trained: Sequence[str]) -> dict[str, Any]:
    """Bits per byte by source, their mean and the worst; `ood` is in neither."""
    return {
        "bits_per_byte": {source: by_source[source] for source in trained},
        **mean_and_worst(by_source, trained),
        "out_of_domain": by_source["ood"],
    }


def shares(
    regimes: Mapping[str, Mapping[str, Any]], tokenizer_weights: BySource, sources: Sequence[str]
) -> dict[str, Any]:
    """Shares of all sequences of the run, planned and realised, by source.

    Args:
        regimes: metrics of each regime, in order; one without steps has no shares.
        tokenizer_weights: what the tokenizer was trained on, of any sum.

    Returns:
        `planned_share`, `realised_share` by source, and `tokenizer_distance`: half the sum of the
        absolute differences between the realised shares and the tokenizer's weights, 0 to 1.
    """
    planned = realised = np.zeros(len(sources))
    done = 0
    for regime in regimes.values():
        steps, done = regime["steps"] - done, regime["steps"]
        if steps:
            planned = planned + steps * np.array([regime["planned_share"][s] for s in sources])
            realised = realised + steps * np.array([regime["realised_share"][s] for s in sources])
    weights = np.array([tokenizer_weights.get(source, 0.0) for source in sources])
    distance = 0.5 * np.abs(realised / done - weights / weights.sum()).sum()
    return {
        "planned_share": dict(zip(sources, (planned / done).tolist(), strict=True)),
        "realised_share": dict(zip(sources, (realised / done).tolist(), strict=True)),
        "tokenizer_distance": float(distance),
    }
