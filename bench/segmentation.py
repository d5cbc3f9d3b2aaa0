"""Harris segments beside the library's BPE and Unigram: bytes per token and encoding speed.

    python bench/segmentation.py [--segments 512 2048 8192] [--repeats 5]

All three learn from the same sample of the training text, weighted as `params.yaml` says, and
encode the held-out text; `dvc repro documents` makes both. Speeds are told as ratios to BPE,
measured in turns: median and range. Encoding runs on RAYON_NUM_THREADS threads; the library's
Unigram trainer takes most of the time.
"""

from __future__ import annotations

import argparse
import os
import time
from functools import partial

import numpy as np
import tokenizers

from andrea.common import paths
from andrea.config import tree
from andrea.config.text import Tokenizer as Settings
from andrea.corpus.documents import open_documents
from andrea.tokens import comparison, learning
from andrea.tokens.tokenizer import BYTES, build


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, nargs="+", default=[512, 2048, 8192])
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    config = tree.load(paths.PARAMS)
    settings = config.tokenizer
    samples = comparison.samples(config.sources, settings)
    held_out = {}
    for name, sample in samples.items():
        documents = open_documents(paths.DOCUMENTS / name)
        for _ in sample.passing(documents.training()):
            pass
        held_out[name] = list(documents.held_out())
    texts = [text for sample in samples.values() for text in sample.documents()]
    threads = os.environ.get("RAYON_NUM_THREADS", str(os.cpu_count()))
    print(f"sample {sum(len(t.encode()) for t in texts):,} bytes, {threads} threads")
    print("segments          bytes/token tokens/word  learn s  speed / BPE")
    for segments in given.segments:
        makers = {
            "bpe": partial(comparison.bpe, texts, BYTES + segments),
            "harris": partial(_harris, texts, segments, settings),
            "unigram": partial(comparison.unigram, texts, BYTES + segments),
        }
        made, learned = {}, {}
        for name, make in makers.items():
            start = time.perf_counter()
            made[name] = make()
            learned[name] = time.perf_counter() - start
        ratios = _speed_ratios(made, [t for ts in held_out.values() for t in ts], given.repeats)
        for name, one in made.items():
            measured = comparison.measure(one, held_out, settings.weights)
            low, middle, high = np.percentile(ratios[name], [0, 50, 100])
            print(
                f"{segments:8} {name:8} {measured['bytes_per_token']:11.3f} "
                f"{measured['tokens_per_word']:11.3f} {learned[name]:8.1f}  "
                f"{middle:.2f} ({low:.2f} to {high:.2f})"
            )


def _harris(texts: list[str], segments: int, settings: Settings) -> tokenizers.Tokenizer:
    words = learning.mix({"sample": learning.count(texts)}, {"sample": 1.0})
    return build(learning.learn(words, segments, settings))


def _speed_ratios(
    made: dict[str, tokenizers.Tokenizer], texts: list[str], repeats: int
) -> dict[str, list[float]]:
    ratios: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(repeats):
        seconds = {}
        for name, one in made.items():
            start = time.perf_counter()
            one.encode_batch_fast(texts, add_special_tokens=False)
            seconds[name] = time.perf_counter() - start
        for name in made:
            ratios[name].append(seconds["bpe"] / seconds[name])
    return ratios


if __name__ == "__main__":
    main()
