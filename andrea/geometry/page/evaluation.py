"""The chapter on held-out text, which only a comparison of two runs has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from andrea.geometry.compare import flatten
from andrea.geometry.page.section import Chapter, Section

TOLD = {
    "macro_mean": "mean over the sources",
    "worst": "worst source",
    "out_of_domain": "text from outside of all sources",
}


def chapter(numbers: Mapping[str, Any]) -> Chapter:
    """What the stage `evaluate` measured of a run's last checkpoint.

    Args:
        numbers: nested by name; empty where there are none.
    """
    metrics = flatten(numbers)
    return Chapter(
        "evaluation",
        "Held-out text: which run predicts better",
        "",
        [_section(metrics)] if metrics else [],
    )


def _section(metrics: Mapping[str, float]) -> Section:
    sentences = [f"{words} {metrics[name]:.3f}" for name, words in TOLD.items() if name in metrics]
    return Section(
        "bits",
        "Bits per byte",
        "How many bits a byte of unseen text costs when the last checkpoint predicts it; fewer are"
        " better, and the size of the vocabulary does not matter.",
        "Look at the mean first, then at which sources gained and which paid for it. What no table"
        " here says is how far two seeds of the same run are apart: differences of a hundredth may"
        " be chance.",
        f"In bits per byte: {'; '.join(sentences)}.",
        metrics=metrics,
    )
