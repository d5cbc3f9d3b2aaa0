"""Measure what needs no network on the same held-out text: xz and n-gram models."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from andrea.common import paths
from andrea.common.files import whole_folder, write_json
from andrea.corpus.documents import open_documents
from andrea.evaluation.baselines import baselines as measure
from andrea.shell.stage import run
from andrea.tokens.encoding import encode_all
from andrea.tokens.shards import open_shard
from andrea.tokens.tokenizer import BOS, Tokenizer

if TYPE_CHECKING:
    from andrea.config.tree import Config


def baselines(config: Config) -> None:
    """Write `metrics.json`."""
    tokenizer = Tokenizer.load(paths.TOKENIZER)
    shards = {name: open_shard(paths.SHARDS / name, paths.TOKENIZER) for name in config.sources}
    tokens = {name: (shard.train, shard.val) for name, shard in shards.items()}
    ood = encode_all(open_documents(paths.OOD).texts("val"), tokenizer)
    tokens["ood"] = (ood[:0], ood)
    metrics = measure(tokens, tokenizer.pieces, BOS, os.cpu_count() or 1)
    with whole_folder(paths.REPORTS / "baselines") as folder:
        write_json(folder / "metrics.json", metrics)
    for name, baseline in metrics.items():
        print(f"{name}: {baseline['macro_mean']:.3f} bits per byte, macro mean")


if __name__ == "__main__":
    run(baselines)
