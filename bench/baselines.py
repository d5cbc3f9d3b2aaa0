"""Time and bits per byte of the baselines on the shipped text: `python -m bench.baselines`.

python -m bench.baselines [folder of shards] [tokenizer.json]
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from andrea.common import paths
from andrea.corpus.documents import open_documents
from andrea.evaluation.baselines import Sides, baselines, ngram_bits_per_byte, xz_bits_per_byte
from andrea.tokens import shards
from andrea.tokens.encoding import encode_all
from andrea.tokens.tokenizer import BOS, Tokenizer

THREADS = 2


def read(folder: Path, tokenizer_file: Path) -> dict[str, Sides]:
    """Train and val of every shard in `folder`, and the out-of-domain text."""
    tokenizer = Tokenizer.load(tokenizer_file)
    opened = {
        path.parent.name: shards.open_shard(path.parent, tokenizer_file)
        for path in sorted(folder.glob("*/manifest.json"))
    }
    ood = encode_all(open_documents(paths.OOD).texts("val"), tokenizer)
    return {
        **{source: (shard.train, shard.val) for source, shard in opened.items()},
        "ood": (ood[:0], ood),
    }


def timed(name: str, work: Callable[[], object]) -> None:
    """Print wall and processor seconds of one call, and the peak memory so far."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{name}: {wall:.1f} s, {processor:.1f} s of processor, {peak:.2f} GiB at the peak")


def main(folder: Path = paths.SHARDS, tokenizer_file: Path = paths.TOKENIZER) -> None:
    """Time both halves, then print the table."""
    sides, pieces = read(folder, tokenizer_file), Tokenizer.load(tokenizer_file).pieces
    print(
        f"{sum(len(train) for train, _ in sides.values()):,} training tokens, "
        f"{sum(len(val) for _, val in sides.values()):,} held out, vocabulary {len(pieces)}"
    )
    timed("n-grams", lambda: ngram_bits_per_byte(sides, pieces, BOS))
    timed("xz", lambda: xz_bits_per_byte(sides, pieces, BOS, THREADS))
    metrics = baselines(sides, pieces, BOS, THREADS)
    print("\nbits per byte     " + " ".join(f"{name:>17}" for name in metrics))
    for source in sides:
        row = [f"{one['bits_per_byte'][source]:17.3f}" for one in metrics.values()]
        print(f"{source:<18}" + " ".join(row))
    macro_means = [f"{one['macro_mean']:17.3f}" for one in metrics.values()]
    print(f"{'macro mean':<18}" + " ".join(macro_means))
    print(f"{'worst':<18}" + " ".join(f"{one['worst_source']:>17}" for one in metrics.values()))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
