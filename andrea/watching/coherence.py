"""How degenerate a text is: measures of repetition, and one joint score with one threshold.

The score knows no language and no word list. It asks how much of a text is new, in three ways:
what only continues a loop, what is copied from earlier on, and what is broken (characters that no
text holds). The constants are fitted on held-out human text by `python -m bench.coherence`, which
also prints how often the score is wrong about it. It says nothing about meaning: a soup of random
letters never repeats itself and is not called degenerate; the loss tells of that.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Least score that is called degenerate: at no length from 40 to 1000 bytes do more than 0.5 % of
# the calibration passages reach it, all sources counting the same.
DEGENERATE = 0.53

# Human text of N characters has about FACTOR * N ** POWER phrases (median, 40 to 1000 characters).
PHRASE_FACTOR = 1.535
PHRASE_POWER = 0.758

# The longer a human text, the smaller the share that ever repeats in it: tables and rules are
# short. Evidence grows by this power of N so that one threshold serves all lengths.
LENGTH_POWER = 0.1
TYPICAL_CHARACTERS = 64

WORD_CHARACTERS = 5  # one broken character spoils a word of about this length
MATRIX_CELLS = 1 << 16  # what stays in a processor's cache

_LAYOUT = "\t\n\r"


@dataclass(frozen=True)
class Loop:
    """The longest stretch of a text in which every character repeats the one a period earlier."""

    characters: int  # how many such characters there are; at least one whole period, or 0
    # The period; the smallest of those that reach as far; 0 where no loop is.
    period_characters: int


def score(text: str) -> float:
    """How degenerate a text is, from 0 (as varied as human text of its length) to 1 (nothing new).

    1 - intact ** (N / 64) ** 0.1, where intact is the product of the shares that are left by the
    longest loop, by the phrases (Lempel and Ziv 1976) missing against human text of the same
    length, and by broken characters. White space alone, and the empty text, score 1. Below about
    40 characters the score is defined but not calibrated.
    """
    if not text.strip():
        return 1.0
    size = len(text)
    fresh = 1 - loop(text).characters / size
    varied = min(1.0, phrases(text) / (PHRASE_FACTOR * size**PHRASE_POWER))
    sound = (1 - broken(text)) ** WORD_CHARACTERS
    evidence = (size / TYPICAL_CHARACTERS) ** LENGTH_POWER
    return float(1 - (fresh * varied * sound) ** evidence)


def degenerate(text: str) -> bool:
    """Whether a text is called degenerate: its score is at least `DEGENERATE`."""
    return score(text) >= DEGENERATE


def loop(text: str) -> Loop:
    """The longest loop: at least two copies of something, whole or going on into a third."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    size = codes.size
    best = Loop(0, 0)
    # Rows beyond the end read a code that no character has.
    padded = np.concatenate([codes, np.full(size, 0xFFFFFFFF, dtype="<u4")])
    rows = max(1, MATRIX_CELLS // max(size, 1))
    places = np.arange(size, dtype=np.int32)
    for first in range(1, size // 2 + 1, rows):
        periods = np.arange(first, min(first + rows, size // 2 + 1))
        ahead = np.lib.stride_tricks.sliding_window_view(padded, size)[periods]
        last_other = np.maximum.accumulate(np.where(ahead == codes, np.int32(-1), places), axis=1)
        runs = (places - last_other).max(axis=1)
        runs[runs < periods] = 0
        longest = int(runs.argmax())
        if runs[longest] > best.characters:
            best = Loop(int(runs[longest]), int(periods[longest]))
    return best


def phrases(text: str) -> int:
    """Phrases of the exhaustive history of a text (Lempel and Ziv 1976): 2 for a constant one.

    A phrase is the shortest stretch that does not occur, whole, earlier in the text; what it is
    compared with may overlap it.
    """
    count = start = 0
    for end in range(1, len(text) + 1):
        if text.find(text[start:end], 0, end - 1) < 0:
            count, start = count + 1, end
    return count + (start < len(text))


def broken(text: str) -> float:
    """Share of characters that no text holds: U+FFFD, surrogates, private use, control codes."""
    bad = sum(
        character == "\ufffd"
        or (unicodedata.category(character) in {"Cc", "Co", "Cs"} and character not in _LAYOUT)
        for character in text
    )
    return bad / max(len(text), 1)


def distinct(words: Sequence[str], order: int) -> float:
    """Distinct over all n-grams of that order (Li et al. 2016); 1 where the text is shorter."""
    grams = list(zip(*(words[shift:] for shift in range(order)), strict=False))
    return len(set(grams)) / len(grams) if grams else 1.0
