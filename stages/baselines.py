"""Measure what needs no network on the same held-out text: xz and n-gram models."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from andrea.common import paths
from andrea.common.files import whole_folder, write_json
from andrea.config.tree import Config
from andrea.corpus.formats import documents
from andrea.evaluation.baselines import baselines as measure
from andrea.shell.stage import run
from andrea.tokens.encoding import encode_documents
from andrea.tokens.shards import open_shard
from andrea.tokens.tokenizer import BOS, Tokenizer


def baselines(config: Config) -> None:
    """Write `metrics.json`."""
    tokenizer = Tokenizer.load(paths.TOKENIZER)
    shards = {s: open_shard(paths.SHARDS / s, paths.TOKENIZER) for s in config.sources}
    ood = Path(config.evaluate.ood)
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
