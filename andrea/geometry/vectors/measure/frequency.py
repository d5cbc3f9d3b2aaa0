"""How often words and tokens occur, and bins of like frequency.

Much of what a table of vectors shows is frequency: rare rows hardly leave their initial place, and
frequent ones crowd together (Gong et al. 2018; Mu & Viswanath 2018). So a comparison of two sets of
rows is fair only inside a bin.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Letters after a space: the spelling whose vector `embeddings.spell` stands for.
WORD = re.compile(r"(?<= )[^\W\d_]+(?:'[^\W\d_]+)?(?!\w)")


@dataclass(frozen=True)
class Bins:
    """A partition by how often things occur; no bin is empty."""

    lowest: Integers  # occurrences of what is in each bin, from here, (b,), rising
    highest: Integers  # up to here, (b,)
    member: Integers  # the bin of each thing, (n,)

    @property
    def sizes(self) -> Integers:
        """How many things are in each bin, (b,)."""
        return np.bincount(self.member, minlength=len(self.lowest))

    @property
    def labels(self) -> list[str]:
        """Each bin in words, such as `0`, `1-9` and `10-99`."""
        ends = zip(self.lowest.tolist(), self.highest.tolist(), strict=True)
        return [f"{low}" if low == high else f"{low}-{high}" for low, high in ends]


def bins(counts: NDArray[np.integer] | Floats, base: int = 10) -> Bins:
    """Bins whose borders are the powers of `base`; one of its own holds what never occurs.

    Args:
        counts: occurrences of each thing, (n,), n >= 1; a mean below 1 counts as never.
        base: at least 2.
    """
    borders = [0, 1]
    while borders[-1] <= counts.max():
        borders.append(borders[-1] * base)
    ends = np.array(borders, dtype=np.int64)
    filled, member = np.unique(np.searchsorted(ends, counts, side="right"), return_inverse=True)
    return Bins(ends[filled - 1], ends[filled] - 1, member)


def word_counts(counts: NDArray[np.integer], spelled: Sequence[Integers]) -> Floats:
    """The frequency that a word's vector has: the geometric mean of its tokens' counts.

    A vector is the mean of rows that were trained as often as their tokens occur, however rare the
    word that they spell together. A word with a token that never occurs has 0.

    Args:
        counts: of each token, (V,).
        spelled: token ids of each of n words.

    Returns:
        (n,).
    """
    logs = [math.log(count) if count > 0 else -math.inf for count in counts.tolist()]
    means = [math.fsum(logs[i] for i in ids.tolist()) / len(ids) for ids in spelled]
    return np.exp(np.array(means, dtype=np.float64))


def count_words(texts: Iterable[str]) -> Counter[str]:
    """How often each word stands after a space; case counts, digits make no word."""
    found: Counter[str] = Counter()
    for text in texts:
        found.update(WORD.findall(text))
    return found


def most_frequent(counts: Mapping[str, int], number: int) -> list[str]:
    """The most frequent words first, equal ones by alphabet; at most `number`."""
    return sorted(counts, key=lambda word: (-counts[word], word))[:number]
