from __future__ import annotations

import lzma
from random import Random

import pytest

from andrea.evaluation.compression import joined, primed_bits_per_byte


def babble(seed: int, words: int) -> str:
    random = Random(seed)
    return " ".join(f"w{random.randrange(2000)}" for _ in range(words))


def xz(text: bytes) -> int:
    return len(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


def test_is_the_growth_of_the_file_that_xz_writes() -> None:
    train, val = [babble(1, 3000), "é" * 50], [babble(2, 700), "ü\n"]
    grown = xz("\n".join([*train, *val]).encode()) - xz("\n".join(train).encode())
    bytes_of_text = sum(len(text.encode()) for text in val)
    assert primed_bits_per_byte({"a": (train, val)}, 1) == {"a": 8 * grown / bytes_of_text}


def test_what_the_training_text_holds_is_nearly_free() -> None:
    old, new = babble(3, 2000), babble(4, 2000)
    figures = primed_bits_per_byte({"old": ([old], [old]), "new": ([old], [new])}, 2)
    assert figures["old"] < 0.1
    assert figures["new"] > 2


def test_a_source_without_training_text_is_compressed_alone() -> None:
    text = babble(5, 500)
    figures = primed_bits_per_byte({"ood": ([], [text])}, 1)
    assert figures["ood"] == pytest.approx(8 * (xz(text.encode()) - xz(b"")) / len(text))


def test_threads_change_nothing_but_the_time() -> None:
    texts = {str(n): ([babble(n, 900)], [babble(n + 50, 90)]) for n in range(6)}
    assert primed_bits_per_byte(texts, 1) == primed_bits_per_byte(texts, 3)


def test_documents_are_joined_in_order() -> None:
    assert joined(["b", "ä", ""]) == b"b\n\xc3\xa4\n"
