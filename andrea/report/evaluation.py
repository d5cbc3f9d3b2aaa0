"""The evaluation as people read it: a table and samples."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from andrea.text.tokenizer import Tokenizer

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


def prompt(stream: NDArray[np.uint16], tokens: int) -> NDArray[np.int64]:
    """The first `tokens` tokens of a held-out stream, filled up from the left with BOS."""
    taken = stream[:tokens].astype(np.int64)
    return np.concatenate([np.full(tokens - len(taken), stream[0], dtype=np.int64), taken])


def write_samples(
    path: Path,
    sources: Sequence[str],
    prompts: NDArray[np.int64],
    samples: Mapping[str, NDArray[np.int64]],
    tokenizer: Tokenizer,
) -> None:
    """One section per source: the prompt and how each checkpoint goes on, up to its end of text."""
    lines = ["# Samples", ""]
    for index, source in enumerate(sources):
        lines += [f"## {source}", "", "prompt", "", *_block(tokenizer.decode(prompts[index]))]
        for name, ids in samples.items():
            ends = np.flatnonzero(ids[index] == prompts[0, 0])
            kept = ids[index][: ends[0]] if ends.size else ids[index]
            lines += [name, "", *_block(tokenizer.decode(kept))]
    path.write_text("\n".join(lines), encoding="utf-8")


def summary_line(metrics: Mapping[str, Any], baselines: Mapping[str, Any]) -> str:
    """Macro means in one line."""
    means = {name: metrics[name]["macro_mean"] for name in ("warmup", "firehose", "polish")}
    means.update({name: found["macro_mean"] for name, found in baselines.items()})
    listed = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
    return f"macro mean of held-out bits per byte: {listed}"


def _block(text: str) -> list[str]:
    return [f"    {line}" for line in text.split("\n")] + [""]
