from __future__ import annotations

import lzma
from random import Random

from andrea.evaluation.baselines import growth


def babble(seed: int, words: int) -> bytes:
    random = Random(seed)
    return " ".join(f"w{random.randrange(2000)}" for _ in range(words)).encode()


def xz(text: bytes) -> int:
    return len(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


def test_is_the_growth_of_the_file_that_xz_writes() -> None:
    before, measured = babble(1, 3000), babble(2, 700)
    assert growth({"a": (before, measured), "b": (b"", measured)}, 1) == {
        "a": xz(before + measured) - xz(before),
        "b": xz(measured) - xz(b""),
    }


def test_what_was_read_before_is_nearly_free_however_long_ago() -> None:
    old, new = babble(3, 2000), babble(4, 2000)
    long_ago = old + babble(5, 30_000)
    grown = growth({"old": (old, old), "long ago": (long_ago, old), "new": (old, new)}, 2)
    assert max(grown["old"], grown["long ago"]) < len(old) / 100
    assert grown["new"] > len(new) / 4


def test_threads_change_nothing_but_the_time() -> None:
    texts = {str(n): (babble(n, 900), babble(n + 50, 90)) for n in range(6)}
    assert growth(texts, 1) == growth(texts, 3)
