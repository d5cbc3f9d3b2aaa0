"""Are related words closer than random words of the same frequency?

Every related pair is set against its own word with every other word that its relative could have
been, by frequency alone or by frequency and part of speech: the first difference is what the table
knows of words, the second what it knows beyond grammar.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.common.seeds import Purpose
from andrea.geometry.vectors.measure import frequency
from andrea.geometry.vectors.measure.embeddings import Encode, Floats, spell, unit, word_vectors
from andrea.geometry.vectors.measure.relations import Entry, Pair

LEAST_RELATIVES = 10  # distinct ones, below which a bootstrap over them says nothing
RESAMPLES = 2000
INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class Closeness:
    """Cosines of related pairs beside those of random pairs of the same frequency.

    Look at `low`: above 0, related words are closer at this scale, and `difference` says by how
    much. `wins` tells the same by rank: 0.5 is chance.
    """

    pairs: list[Pair]  # related pairs that were compared, n of them
    strangers: list[str]  # one random partner of each pair's word, for a table or a histogram
    related: Floats  # cosine of each pair, (n,)
    strange: Floats  # cosine of each pair's word with the stranger, (n,)
    expected: Floats  # mean cosine of the word with all its possible strangers, (n,)
    # Means over the pairs, and the first less the second.
    mean_related: float
    mean_expected: float
    difference: float
    # Of the difference, 95 %. Pairs with one relative are no independent witnesses: the bootstrap
    # draws relatives, each with all its pairs (Davison & Hinkley 1997, 3.8). Words of several
    # tokens also share tokens from pair to pair, which it does not know: with them the interval is
    # somewhat too narrow.
    low: float
    high: float
    # Share of the possible strangers that are less close than the relative, ties half, in the mean
    # over pairs.
    wins: float
    relatives: int  # distinct ones


def closeness(
    table: NDArray[np.floating],
    counts: NDArray[np.integer],
    entries: Sequence[Entry],
    pairs: Sequence[Pair],
    encode: Encode,
    most_tokens: int,
    same_part: bool,
    seed: int,
) -> Closeness | None:
    """Compare related pairs with random ones of the same frequency, exactly but for the interval.

    A stranger is an entry whose vector is the mean of as many rows as the relative's, of a
    frequency in the same bin of a factor of two; that is no relative of the word and shares no
    token with it. A pair with a shared token is left out: the mean of rows makes it close.

    Args:
        table: (V, d).
        counts: of each token in what the network read, (V,).
        pairs: related ones, both words among the entries.
        most_tokens: of each word of a pair; 1 keeps words that have a row of their own.
        same_part: whether strangers also have a sense of the pair's part of speech.

    Returns:
        None where fewer than ten distinct relatives are left.
    """
    rng = np.random.default_rng([seed, Purpose.RELATED_WORDS])
    words = [entry.word for entry in entries]
    spelled = spell(words, encode)
    place = {word: number for number, word in enumerate(words)}
    directions = unit(word_vectors(table, spelled))
    bins = frequency.bins(frequency.word_counts(counts, spelled), base=2).member.tolist()
    alike, owners, related_to = defaultdict(set), defaultdict(set), defaultdict(set)
    for number, ids in enumerate(spelled):
        alike[bins[number], len(ids)].add(number)
        for token in ids.tolist():
            owners[token].add(number)
    for pair in pairs:
        related_to[pair.word].add(place[pair.relative])
        related_to[pair.relative].add(place[pair.word])

    kept, strangers, rows = [], [], []
    for pair in pairs:
        word, relative = place[pair.word], place[pair.relative]
        sharing = set().union(*(owners[token] for token in spelled[word].tolist()))
        longest = max(len(spelled[word]), len(spelled[relative]))
        if longest > most_tokens or relative in sharing:
            continue
        pool = alike[bins[relative], len(spelled[relative])] - sharing - related_to[pair.word]
        possible = [n for n in sorted(pool) if not same_part or pair.part in entries[n].parts]
        if not possible:
            continue
        cosines = directions[possible] @ directions[word]
        related = directions[relative] @ directions[word]
        one = rng.integers(len(possible))
        wins = (cosines < related).mean() + 0.5 * (cosines == related).mean()
        kept.append(pair)
        strangers.append(words[possible[one]])
        rows.append((related, cosines[one], cosines.mean(), wins))

    groups, group = np.unique([pair.relative for pair in kept], return_inverse=True)
    if len(groups) < LEAST_RELATIVES:
        return None
    related, strange, expected, wins = np.array(rows).T
    apart = related - expected
    low, high = _interval(apart, group, rng)
    return Closeness(
        kept, strangers, related, strange, expected, float(related.mean()), float(expected.mean()),
        float(apart.mean()), low, high, float(wins.mean()), len(groups),
    )  # fmt: skip


def _interval(
    values: Floats, group: NDArray[np.int64], rng: np.random.Generator
) -> tuple[float, float]:
    """Interval of a mean whose values come in groups, by drawing groups with replacement."""
    sums, sizes = np.bincount(group, values), np.bincount(group)
    drawn = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), RESAMPLES)
    low, high = np.quantile(drawn @ sums / (drawn @ sizes), INTERVAL)
    return float(low), float(high)
