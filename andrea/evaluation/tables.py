"""The evaluation as people read it: a table and samples."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from andrea.tokens.tokenizer import BOS, Tokenizer

Bits = Mapping[str, Mapping[str, float]]


def write_table(
    path: Path, bits: Bits, baselines: Mapping[str, Any], sources: Sequence[str]
) -> None:
    """Bits per byte, one row per source, one column per checkpoint and baseline."""
    columns = {**bits, **{name: found["bits_per_byte"] for name, found in baselines.items()}}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["source", *columns])
        for source in sources:
            writer.writerow([source, *(f"{column[source]:.4f}" for column in columns.values())])


def write_memorization(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """One row per checkpoint and source, in the columns of the rows; None is an empty field."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {key: f"{x:.4f}" if isinstance(x, float) else x for key, x in row.items()}
            )


def prompts(stream: NDArray[np.uint16], tokens: int, count: int) -> NDArray[np.int64]:
    """How the first documents of a held-out stream begin.

    Args:
        stream: documents, each with BOS before it.
        tokens: of a prompt, BOS included; a shorter document is filled up with BOS from the left.
        count: of prompts; where the stream has fewer documents, the last one serves again.

    Returns:
        Ids, (count, tokens).
    """
    ends = [*np.flatnonzero(stream == BOS), len(stream)]
    rows = np.full((count, tokens), BOS, dtype=np.int64)
    for row in range(count):
        document = min(row, len(ends) - 2)
        taken = stream[ends[document] : ends[document + 1]][:tokens]
        rows[row, tokens - len(taken) :] = taken
    return rows


def write_samples(
    path: Path,
    sources: Sequence[str],
    prompts: NDArray[np.int64],
    samples: Mapping[str, NDArray[np.int64]],
    tokenizer: Tokenizer,
) -> None:
    """Each prompt, and how each checkpoint goes on up to its end of text.

    Args:
        path: of the Markdown file.
        sources: names, each with the same number of prompts, in order.
        prompts: ids, (prompts, P).
        samples: added ids by checkpoint, (prompts, T).
        tokenizer: that decodes them.
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
    means.update({name: found["macro_mean"] for name, found in baselines.items()})
    listed = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
    recited = _recited(metrics["memorization"]["polish"])
    return f"macro mean of held-out bits per byte: {listed}{recited}"


def _recited(found: Mapping[str, Any]) -> str:
    """Empty unless an interval, of the mean or of the worst source, lies above 0."""
    if not found or max(found["low"], found["worst_low"]) <= 0:
        return ""
    return (
        f"; recited from memory: {found['extracted_train']:.1%} of passages read and"
        f" {found['extracted_control']:.1%} of passages never seen, most from"
        f" {found['worst_source']}: {found['worst_difference']:.1%} more"
        f" ({found['worst_low']:.1%} to {found['worst_high']:.1%})"
    )


def _block(text: str) -> list[str]:
    return [f"    {line}" for line in text.split("\n")] + [""]
