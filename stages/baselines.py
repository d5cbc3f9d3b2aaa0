"""Measure what needs no network on the same held-out text: xz and n-gram models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from andrea import paths
from andrea.config import sources as source_config
from andrea.config.evaluate import Evaluate
from andrea.config.reading import section
from andrea.evaluation.baselines import baselines as measure
from andrea.files import whole_folder, write_json
from andrea.text.encoding import encode_documents
from andrea.text.formats import documents
from andrea.text.shards import open_shard
from andrea.text.tokenizer import BOS, Tokenizer
from stages._shell import run


def baselines(params: dict[str, Any]) -> None:
    """Write `metrics.json`."""
    tokenizer = Tokenizer.load(paths.TOKENIZER)
    shards = {s: open_shard(paths.SHARDS / s, paths.TOKENIZER) for s in source_config.read(params)}
    ood = Path(section(params, "evaluate", Evaluate).ood)
    out_of_domain = np.concatenate(list(encode_documents(documents.read(ood), tokenizer)))
    streams = {source: (shard.train, shard.val) for source, shard in shards.items()}
    streams["ood"] = (out_of_domain[:0], out_of_domain)
    figures = measure(streams, tokenizer.pieces, BOS, os.cpu_count() or 1)
    with whole_folder(paths.REPORTS / "baselines") as folder:
        write_json(folder / "metrics.json", figures)
    for name, found in figures.items():
        print(f"{name}: {found['macro_mean']:.3f} bits per byte, macro mean")


if __name__ == "__main__":
    run(baselines)
