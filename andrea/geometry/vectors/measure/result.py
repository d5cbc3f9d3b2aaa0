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
    """The most frequent words, each as the mean of its tokens' rows in the last table.

    Attributes:
        words: most frequent first, (n,).
        counts: occurrences in the text that was counted, (n,).
        tokens: how many tokens each has, (n,).
        map: places of the words.
        neighbours: of each among the others; ids are places in `words`.
    """

    words: tuple[str, ...]
    counts: Integers
    tokens: Integers
    map: Map
    neighbours: Neighbours


@dataclass(frozen=True, eq=False)
class Chosen:
    """Words that the parameters name, each against each, in the last table.

    Attributes:
        words: (m,).
        pieces: tokens of each, readable.
        euclidean: distances, (m, m).
        cosine: (m, m).
        nearest: of each among the most frequent words and the chosen ones, nearest first.
    """

    words: tuple[str, ...]
    pieces: tuple[tuple[str, ...], ...]
    euclidean: Floats
    cosine: Floats
    nearest: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Related:
    """Whether related words are closer than random ones of the same frequency, in one table.

    Attributes:
        checkpoint: whose table.
        same_part: whether the random words have the pair's part of speech, too.
        most_tokens: of each word of a pair.
        found: None where too few pairs are left.
    """

    checkpoint: str
    same_part: bool
    most_tokens: int
    found: Closeness | None


@dataclass(frozen=True, eq=False)
class Vectors:
    """The table of token vectors.

    Attributes:
        pieces: tokens, readable, (V,).
        counts: occurrences of each token in what the run read, (V,).
        bins: of the tokens by count.
        spectra, components, cosines: per checkpoint, (p,).
        movement: of the tokens over the checkpoints.
        similarity: of the checkpoints' tables.
        drift: from each checkpoint to the next, (p - 1,), and then from the first to the last.
        words: the most frequent.
        chosen: words named by the parameters.
        entries: words in the dictionary; 0 where there is none.
        related: rows of the table of related words; none without a dictionary.
        note: why a part is missing; empty where none is.
    """

    pieces: tuple[str, ...]
    counts: Integers
    bins: Bins
    spectra: tuple[Spectrum, ...]
    components: tuple[Components, ...]
    cosines: tuple[Cosines, ...]
    movement: Movement
    similarity: Similarity
    drift: tuple[Drift, ...]
    words: Words
    chosen: Chosen
    entries: int
    related: tuple[Related, ...]
    note: str
