"""The original ANDREA's 100-point score of a sample, shown beside ours; it stops nothing.

Only its weights and its limit are known: bigram variety 35, trigram variety 35, English words 20,
character variety 10, bad below 30. How each part is counted is our reconstruction: words stand
between white space, variety is distinct over all, English is the share of words found in a given
list, and character variety is full at 30 distinct characters.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from andrea.watching.coherence import distinct

BIGRAMS, TRIGRAMS, ENGLISH, CHARACTERS = 35.0, 35.0, 20.0, 10.0  # points
BAD = 30.0  # a total below this is bad
FULL_CHARACTERS = 30

_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Original:
    """Points of one text; `total` is their sum, 0..100."""

    bigrams: float  # 0..35
    trigrams: float  # 0..35
    english: float  # 0..20
    characters: float  # 0..10

    @property
    def total(self) -> float:
        """Sum of the four parts."""
        return self.bigrams + self.trigrams + self.english + self.characters

    @property
    def bad(self) -> bool:
        """What the original's rule says: fewer than 30 points."""
        return self.total < BAD


def original_score(text: str, words: Collection[str]) -> Original:
    """Points of a text.

    Args:
        text: the sample; without a word it has no points.
        words: English words in lower case, such as `vocabulary` of the dictionary source. A set:
            it is searched once per word.
    """
    spoken = text.lower().split()
    if not spoken:
        return Original(0.0, 0.0, 0.0, 0.0)
    english = sum(_bare(word) in words for word in spoken) / len(spoken)
    variety = min(1.0, len(set(text)) / FULL_CHARACTERS)
    return Original(
        bigrams=BIGRAMS * distinct(spoken, 2),
        trigrams=TRIGRAMS * distinct(spoken, 3),
        english=ENGLISH * english,
        characters=CHARACTERS * variety,
    )


def vocabulary(texts: Iterable[str]) -> frozenset[str]:
    """The words, in lower case, of some texts: a word list from text at hand."""
    return frozenset(word for text in texts for word in _LETTERS.findall(text.lower()))


def _bare(word: str) -> str:
    letters = _LETTERS.search(word)
    return letters.group() if letters else ""
