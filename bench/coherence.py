"""Calibration of the degeneracy score on held-out human text: `python -m bench.coherence`.

python -m bench.coherence [--raw data/raw] [--samples samples.json ...]

Documents of each source are joined by a newline, as a model reads and writes them, and cut into
passages of one length in bytes. Those of even documents set the constants of
`andrea.watching.coherence`, those of odd documents report how often human text is called
degenerate. Out-of-domain text takes no part in the calibration.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from andrea.common import paths
from andrea.corpus.formats import documents
from andrea.watching import coherence
from andrea.watching.original import original_score, vocabulary

LENGTHS_BYTES = (40, 64, 100, 150, 200, 250, 400, 600, 1000)
AIM = 0.005  # share of human passages called degenerate
LOOPED = (0.2, 0.3, 0.4, 0.5, 0.75)  # share of a passage
OUT_OF_DOMAIN = "ood"
SAMPLES = {
    "region": "region region region region region region region",
    "quotes": "''''' ''''' '' ''' '' ''' '''?' ''' ' '' '' '",
    "games": "games, games, games, games, games, games",
    "Budy": "Budy Budy Budy Budy Budy Budy Budy Budy Budy",
}

Floats = NDArray[np.float64]
Passages = dict[str, list[str]]


def passages(file: Path, length_bytes: int, half: int) -> list[str]:
    """Non-overlapping passages of every second document; characters cut in two are dropped."""
    text = "\n".join(list(documents.read(file))[half::2]).encode()
    starts = range(0, len(text) - length_bytes + 1, length_bytes)
    return [text[start : start + length_bytes].decode(errors="ignore") for start in starts]


def halves(raw: Path, length_bytes: int) -> Iterator[Passages]:
    """Both halves at one length, by source."""
    files = sorted(raw.glob("*/eval.jsonl.gz"))
    for half in (0, 1):
        yield {file.parent.name: passages(file, length_bytes, half) for file in files}


def macro_quantile(by_source: dict[str, Floats], share: float) -> float:
    """The value above which lies `share` of the passages, all sources counting the same."""
    values = np.concatenate([*by_source.values()])
    weights = np.concatenate([np.full(len(v), 1 / len(v)) for v in by_source.values()])
    order = np.argsort(-values, kind="stable")
    above = np.cumsum(weights[order]) / len(by_source)
    return float(values[order][np.searchsorted(above, share, side="right")])


def calibrate(halves_by_length: dict[int, Passages]) -> None:
    """Fit the constants and print them beside those in force."""
    median_characters, median_phrases, evidence, limits = [], [], [], []
    for by_source in halves_by_length.values():
        human = {name: texts for name, texts in by_source.items() if name != OUT_OF_DOMAIN}
        texts = [text for texts in human.values() for text in texts]
        median_characters.append(np.median([len(text) for text in texts]))
        median_phrases.append(np.median([coherence.phrases(text) for text in texts]))
        scores = {n: np.array([coherence.score(t) for t in texts]) for n, texts in human.items()}
        limits.append(macro_quantile(scores, AIM))
        # Undo the length's part of the score: what remains is -log(intact).
        grown = (median_characters[-1] / coherence.TYPICAL_CHARACTERS) ** coherence.LENGTH_POWER
        evidence.append(-np.log1p(-limits[-1]) / grown)
    sizes = np.log(median_characters)
    power, factor = np.polyfit(sizes, np.log(median_phrases), 1)
    slope = -np.polyfit(sizes, np.log(evidence), 1)[0]
    print("calibration half             fitted   in force")
    print(f"PHRASE_FACTOR              {np.exp(factor):8.3f}   {coherence.PHRASE_FACTOR:8.3f}")
    print(f"PHRASE_POWER               {power:8.3f}   {coherence.PHRASE_POWER:8.3f}")
    print(f"LENGTH_POWER               {slope:8.3f}   {coherence.LENGTH_POWER:8.3f}")
    print(f"DEGENERATE (worst length)  {max(limits):8.3f}   {coherence.DEGENERATE:8.3f}")
    print(f"limit by length, for {AIM:.1%}  " + " ".join(f"{limit:.3f}" for limit in limits))


def rates(halves_by_length: dict[int, Passages]) -> None:
    """Print the percentage of human passages called degenerate, by source and length."""
    print("\nreporting half: % called degenerate, by length in bytes; passages at the shortest")
    print(f"{'':<18}" + " ".join(f"{length:>6}" for length in halves_by_length))
    table = {
        source: [
            100 * float(np.mean([coherence.degenerate(text) for text in by_source[source]]))
            for by_source in halves_by_length.values()
        ]
        for source in halves_by_length[LENGTHS_BYTES[0]]
    }
    counts = {source: len(texts) for source, texts in halves_by_length[LENGTHS_BYTES[0]].items()}
    for source, row in table.items():
        print(f"{source:<18}" + " ".join(f"{v:6.2f}" for v in row) + f"   {counts[source]}")
    inside = np.array([row for source, row in table.items() if source != OUT_OF_DOMAIN])
    print(f"{'macro of sources':<18}" + " ".join(f"{v:6.2f}" for v in inside.mean(axis=0)))
    print(f"{'worst source':<18}" + " ".join(f"{v:6.2f}" for v in inside.max(axis=0)))


def looped(text: str, share: float, period: int) -> str:
    """A text whose end, that share of it, only repeats the `period` characters before."""
    kept = max(len(text) - round(share * len(text)), period)
    head = text[:kept]
    return (head + head[-period:] * len(text))[: len(text)]


def caught(halves_by_length: dict[int, Passages]) -> None:
    """Print the percentage of human passages called degenerate once their end is made a loop."""
    print("\n% called degenerate where the end of a human passage is a loop, macro of sources")
    print(f"{'bytes':>5} {'period':>7}" + "".join(f"{share:>7.0%}" for share in LOOPED))
    for length in (64, 150, 250):
        for period in (1, 5, 20, 60):
            if 3 * period > length:
                continue
            row = [
                100
                * np.mean(
                    [
                        np.mean(
                            [coherence.degenerate(looped(t, share, period)) for t in texts[:40]]
                        )
                        for texts in halves_by_length[length].values()
                    ]
                )
                for share in LOOPED
            ]
            print(f"{length:>5} {period:>7}" + "".join(f"{value:7.1f}" for value in row))


def both_scores(texts: dict[str, str], words: frozenset[str]) -> None:
    """Print our score and the original's for a few texts."""
    print("\n                    ours          original (bad below 30)")
    for name, text in texts.items():
        points = original_score(text, words)
        ours = "degenerate" if coherence.degenerate(text) else "-"
        theirs = "bad" if points.bad else "-"
        print(
            f"{name:<18}{coherence.score(text):6.3f} {ours:<11} {points.total:5.1f} {theirs:<4}"
            f" bigrams {points.bigrams:.1f} trigrams {points.trigrams:.1f}"
            f" English {points.english:.1f} characters {points.characters:.1f}"
        )


def trace(file: Path, words: frozenset[str]) -> None:
    """Print which samples of a run are called degenerate: a list of [step, [text, ...]]."""
    print(f"\n{file}: step, our scores, the original's points")
    for step, texts in json.loads(file.read_text(encoding="utf-8")):
        ours = " ".join(
            f"{coherence.score(text):.2f}{'*' if coherence.degenerate(text) else ' '}"
            for text in texts
        )
        points = [original_score(text, words) for text in texts]
        theirs = " ".join(f"{p.total:5.1f}{'*' if p.bad else ' '}" for p in points)
        print(f"{step:>7}  {ours}  {theirs}")


def cost(text: str, repeats: int = 200) -> None:
    """Print the time of one call."""
    for function in (coherence.score, coherence.measures):
        since = time.perf_counter()
        for _ in range(repeats):
            function(text)
        took = (time.perf_counter() - since) / repeats * 1e3
        print(f"{function.__name__}: {took:.2f} ms for {len(text)} characters")


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--raw", type=Path, default=paths.RAW)
    parser.add_argument("--samples", type=Path, nargs="*", default=[], help="samples of runs")
    given = parser.parse_args()
    split = {length: tuple(halves(given.raw, length)) for length in LENGTHS_BYTES}
    calibrate({length: first for length, (first, _) in split.items()})
    rates({length: second for length, (_, second) in split.items()})
    caught({length: second for length, (_, second) in split.items()})
    words = vocabulary(documents.read(given.raw / "dictionary" / "train.jsonl.gz"))
    both_scores(SAMPLES, words)
    for file in given.samples:
        trace(file, words)
    cost(split[250][1]["gutenberg"][0])


if __name__ == "__main__":
    main()
