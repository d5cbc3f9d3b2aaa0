from __future__ import annotations

import json
import lzma

import numpy as np
import pytest
from numpy.typing import NDArray

from andrea.evaluation.baselines import baselines, ngram_bits_per_byte, xz_bits_per_byte

BOS, VOCABULARY = 8, 10
PIECES = [b"a", b"b", b"c", b"d", b"ef", b"gh", b"ij", b"kl", b"", b"mno"]
LENGTHS = np.array([len(piece) for piece in PIECES])
MODELS = {
    "unigram",
    "witten_bell_3gram",
    "witten_bell_5gram",
    "kneser_ney_3gram",
    "kneser_ney_5gram",
}
NOTHING = np.zeros(0, np.uint16)


def noise(seed: int, tokens: int) -> NDArray[np.uint16]:
    drawn = np.random.default_rng(seed).choice([0, 1, 2, 3, 4, 5, 6, 7, 9], tokens)
    drawn[::50] = BOS
    return drawn.astype(np.uint16)


def cycle(tokens: int, period: int) -> NDArray[np.uint16]:
    return np.concatenate(([BOS], np.arange(tokens - 1) % period)).astype(np.uint16)


def test_noise_costs_its_entropy_and_a_cycle_next_to_nothing() -> None:
    val = noise(2, 20_000)
    bits = ngram_bits_per_byte({"noise": (noise(1, 50_000), val)}, PIECES, BOS)
    entropy = np.log2(VOCABULARY - 1) * np.count_nonzero(val != BOS) / LENGTHS[val].sum()
    assert bits["unigram"]["noise"] == pytest.approx(entropy, rel=0.002)
    bits = ngram_bits_per_byte({"cycle": (cycle(5000, 8), cycle(900, 8))}, PIECES, BOS)
    assert bits["unigram"]["cycle"] == pytest.approx(8 * 3 / 12, rel=0.01)
    assert all(bits[name]["cycle"] < 0.02 for name in MODELS - {"unigram"})


def test_one_model_reads_all_sources_and_learns_nothing_from_held_out_text() -> None:
    a, b, c, ood = (noise(seed, 900) for seed in range(4))
    both = ngram_bits_per_byte({"a": (a, b), "c": (c, ood)}, PIECES, BOS)
    merged = np.concatenate((a, c))
    one = ngram_bits_per_byte({"b": (merged, b), "ood": (NOTHING, ood)}, PIECES, BOS)
    assert {name: [*v.values()] for name, v in both.items()} == {
        name: [*v.values()] for name, v in one.items()
    }


def test_xz_reads_the_text_of_the_tokens_a_newline_before_each_document() -> None:
    train = np.array([BOS, *[0, 4, 9] * 40, BOS, 7, 7], np.uint16)
    val = np.array([BOS, 0, 4, 9, BOS, 2, BOS, *[3] * 9], np.uint16)
    before, measured = b"\n" + b"aefmno" * 40 + b"\nklkl", b"\naefmno\nc\n" + b"d" * 9

    def size(text: bytes) -> int:
        return len(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))

    assert xz_bits_per_byte({"a": (train, val), "ood": (NOTHING, val)}, PIECES, BOS, 2) == {
        "a": 8 * (size(before + measured) - size(before)) / (6 + 1 + 9),
        "ood": 8 * (size(measured) - size(b"")) / (6 + 1 + 9),
    }


def test_the_mean_and_the_worst_leave_out_what_has_no_training_text() -> None:
    sides = {
        "easy": (cycle(3000, 2), cycle(300, 2)),
        "hard": (noise(3, 3000), noise(4, 300)),
        "ood": (NOTHING, noise(5, 300)),
    }
    bits = baselines(sides, PIECES, BOS, threads=2)
    assert set(bits) == MODELS | {"xz"}
    for one in bits.values():
        by_source = one["bits_per_byte"]
        assert list(by_source) == ["easy", "hard", "ood"]
        assert one["macro_mean"] == (by_source["easy"] + by_source["hard"]) / 2
        assert (one["worst_source"], one["worst"]) == ("hard", by_source["hard"])
    assert json.loads(json.dumps(bits)) == bits
