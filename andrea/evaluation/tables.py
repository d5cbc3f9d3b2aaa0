"""The evaluation as people read it: tables and samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from andrea.tokens.tokenizer import BOS, Tokenizer, Tokens

if TYPE_CHECKING:
    from andrea.evaluation.run import Measured

Rows = list[dict[str, Any]]
DIGITS = 4  # after the point


def bits_per_byte(measured: Mapping[str, Measured], baselines: Mapping[str, Any]) -> Rows:
    """One row per source, one column per checkpoint and baseline."""
    columns = {name: one.bits_per_byte for name, one in measured.items()}
    columns |= {name: one["bits_per_byte"] for name, one in baselines.items()}
    return [
        {"source": source, **{n: round(column[source], DIGITS) for n, column in columns.items()}}
        for source in next(iter(columns.values()))
    ]


def memorization(
    measured: Mapping[str, Measured], regimes: Mapping[str, Mapping[str, Any]]
) -> Rows:
    """One row per checkpoint and source; `regimes` are the metrics of their training."""
    rows = (
        {"regime": name, "source": source, "epochs": regimes[name]["epochs"][source]}
        | asdict(recited)
        for name, one in measured.items()
        for source, recited in one.recited.items()
    )
    return [
        {name: round(v, DIGITS) if isinstance(v, float) else v for name, v in row.items()}
        for row in rows
    ]


def prompts(held_out: Tokens, length: int, count: int) -> NDArray[np.int64]:
    """How the first held-out documents begin.

    A document that is shorter than `length`, BOS included, is filled up with BOS from the left;
    where there are fewer than `count` documents, the last one serves again.

    Args:
        held_out: tokens of documents, each after its BOS.

    Returns:
        Ids, (count, length).
    """
    ends = [*np.flatnonzero(held_out == BOS), len(held_out)]
    rows = np.full((count, length), BOS, dtype=np.int64)
    for row in range(count):
        document = min(row, len(ends) - 2)
        taken = held_out[ends[document] : ends[document + 1]][:length]
        rows[row, length - len(taken) :] = taken
    return rows


def write_samples(
    path: Path,
    sources: Sequence[str],
    prompts: NDArray[np.int64],
    samples: Mapping[str, NDArray[np.int64]],
    tokenizer: Tokenizer,
) -> None:
    """Write to Markdown each prompt, and how each checkpoint goes on up to its end of text.

    Args:
        sources: names, each with the same number of prompts, in order.
        prompts: ids, (prompts, P).
        samples: added ids by checkpoint, (prompts, T).
    """
    lines = ["# Samples", ""]
    each = len(prompts) // len(sources)
    for index, prompt in enumerate(prompts):
        if index % each == 0:
            lines += [f"## {sources[index // each]}", ""]
        lines += ["prompt", "", *_block(tokenizer.decode(prompt))]
        for name, ids in samples.items():
            ends = np.flatnonzero(ids[index] == BOS)
            kept = ids[index][: ends[0]] if ends.size else ids[index]
            lines += [name, "", *_block(tokenizer.decode(kept))]
    path.write_text("\n".join(lines), encoding="utf-8")


def summary_line(metrics: Mapping[str, Any], baselines: Mapping[str, Any]) -> str:
    """Macro means in one line, and what was recited if that is more than of unread text."""
    means = {name: metrics[name]["macro_mean"] for name in ("warmup", "firehose", "polish")}
    means.update({name: one["macro_mean"] for name, one in baselines.items()})
    listed = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
    recited = _recited(metrics["memorization"]["polish"])
    return f"macro mean of held-out bits per byte: {listed}{recited}"


def _recited(overall: Mapping[str, Any]) -> str:
    """Empty unless an interval, of the mean or of the worst source, lies above 0."""
    if not overall or max(overall["low"], overall["worst_low"]) <= 0:
        return ""
    return (
        f"; recited from memory: {overall['extracted_train']:.1%} of passages read and"
        f" {overall['extracted_control']:.1%} of passages never seen, most from"
        f" {overall['worst_source']}: {overall['worst_difference']:.1%} more"
        f" ({overall['worst_low']:.1%} to {overall['worst_high']:.1%})"
    )


def _block(text: str) -> list[str]:
    return [f"    {line}" for line in text.split("\n")] + [""]
