"""What the stage `geometry` found of the token table.

Letters: V tokens, p checkpoints (the initial weights first).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.geometry.vectors.measure.closeness import Closeness
from andrea.geometry.vectors.measure.drift import Drift, Movement, Similarity
from andrea.geometry.vectors.measure.embeddings import Map, Neighbours
from andrea.geometry.vectors.measure.frequency import Bins
from andrea.geometry.vectors.measure.spectrum import Components, Cosines, Spectrum

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Words:
    """The most frequent words, each as the mean of its tokens' rows in the last table."""

    words: tuple[str, ...]  # most frequent first, (n,)
    counts: Integers  # occurrences in the text that was counted, (n,)
    tokens: Integers  # how many tokens each has, (n,)
    map: Map  # places of the words
    neighbours: Neighbours  # of each among the others; ids are places in `words`


@dataclass(frozen=True, eq=False)
class Chosen:
    """Words that the parameters name, each against each, in the last table."""

    words: tuple[str, ...]  # (m,)
    pieces: tuple[tuple[str, ...], ...]  # tokens of each, readable
    euclidean: Floats  # distances, (m, m)
    cosine: Floats  # (m, m)
    # Of each among the most frequent words and the chosen ones, nearest first.
    nearest: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Related:
    """Whether related words are closer than random ones of the same frequency, in one table."""

    checkpoint: str  # whose table
    same_part: bool  # whether the random words have the pair's part of speech, too
    most_tokens: int  # of each word of a pair
    found: Closeness | None  # None where too few pairs are left


@dataclass(frozen=True, eq=False)
class Vectors:
    """The table of token vectors."""

    pieces: tuple[str, ...]  # tokens, readable, (V,)
    counts: Integers  # occurrences of each token in what the run read, (V,)
    bins: Bins  # of the tokens by count
    # Per checkpoint, (p,).
    spectra: tuple[Spectrum, ...]
    components: tuple[Components, ...]
    cosines: tuple[Cosines, ...]
    movement: Movement  # of the tokens over the checkpoints
    similarity: Similarity  # of the checkpoints' tables
    # From each checkpoint to the next, (p - 1,), and then from the first to the last.
    drift: tuple[Drift, ...]
    words: Words  # the most frequent
    chosen: Chosen  # words named by the parameters
    entries: int  # words in the dictionary; 0 where there is none
    related: tuple[Related, ...]  # rows of the table of related words; none without a dictionary
    note: str  # why a part is missing; empty where none is
