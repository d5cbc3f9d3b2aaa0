"""Training documents that say nearly what a held-out document says: MinHash, then exact.

A document is the set of its runs of five words; two are near when their sets have a Jaccard
similarity of `threshold` or more (Lee et al. 2022). Candidates come from MinHash signatures in a
table of bands (Broder 1997), and each is then compared set with set, so none is taken by chance.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from andrea.corpus.documents import digest

if TYPE_CHECKING:
    from datasketch import MinHash, MinHashLSH

THRESHOLD = 0.8
WORDS = 5
PERMUTATIONS = 128
SEED = 1
MISSED = 1e-4  # share of pairs exactly at the threshold that the bands may not see

Shingles = NDArray[np.uint64]

# A word is what stands between ASCII blanks and punctuation, without regard to case.
_BLANKS = bytes(byte if byte >= 128 or chr(byte).isalnum() else ord(" ") for byte in range(256))
_FACTORS = np.array(
    [0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93,
     0xA0761D6478BD642F],
    dtype=np.uint64,
)  # fmt: skip


class Match(NamedTuple):
    """A document near to the held-out document number `place`, and how near: 0 to 1."""

    place: int
    similarity: float


@dataclass(frozen=True)
class Signatures:
    """What is kept of held-out documents: about 8 bytes a word.

    Once a document comes that could be near to one, their MinHash signatures are made and kept,
    too: about 13 kB a document. Most text has no such document, and never pays for them.

    Attributes:
        shingles: of each document, sorted (n,) arrays.
        known: all of them as one.
        threshold: least similarity of what is near.
    """

    shingles: Sequence[Shingles]
    known: Shingles
    threshold: float

    def candidates(self, own: Shingles) -> list[int]:
        """Places of documents that may be near to one with the shingles `own`, in order."""
        return sorted(self._bands.query(_signed(self._blank, own)))

    @cached_property
    def _blank(self) -> MinHash:
        from datasketch import MinHash

        return MinHash(PERMUTATIONS, seed=SEED, hashfunc=int, scheme="affine64")

    @cached_property
    def _bands(self) -> MinHashLSH:
        from datasketch import MinHashLSH

        bands = MinHashLSH(num_perm=PERMUTATIONS, params=banding(self.threshold))
        for place, each in enumerate(self.shingles):
            if len(each):
                bands.insert(place, _signed(self._blank, each), check_duplication=False)
        return bands


def shingles(document: str) -> Shingles:
    """Hashes of a document's different runs of five words, sorted, (n,) uint64.

    A document of one to four words is one run; one without a word is none. Case and punctuation
    make no difference. A text that is written without blanks has long words, so that only almost
    equal texts are near.
    """
    words = document.lower().encode("utf-8", "replace").translate(_BLANKS).split()
    hashes = np.fromiter(map(zlib.crc32, words), dtype=np.uint64, count=len(words))
    runs = max(len(words) - WORDS + 1, min(len(words), 1))
    mixed = np.zeros(runs, dtype=np.uint64)
    for place, factor in enumerate(_FACTORS):
        column = hashes[place : place + runs] + np.uint64(1)
        mixed[: len(column)] += column * factor
    return np.unique(mixed)


def similarity(first: Shingles, second: Shingles) -> float:
    """Jaccard similarity of two sets as `shingles` makes them; 0 where one is empty."""
    shared = len(np.intersect1d(first, second, assume_unique=True))
    return shared / (len(first) + len(second) - shared) if shared else 0.0


def signatures(documents: Iterable[str], threshold: float = THRESHOLD) -> Signatures:
    """Read held-out documents once; their places in `Match` count from 0 in this order.

    Raises:
        ValueError: `threshold` is not above 0 and at most 1.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold {threshold} is not above 0 and at most 1")
    sets = [shingles(document) for document in documents]
    known = np.unique(np.concatenate([*sets, np.empty(0, dtype=np.uint64)]))
    return Signatures(sets, known, threshold)


def matches(document: str, held_out: Signatures) -> list[Match]:
    """The held-out documents that a document is near to, in their order."""
    own = shingles(document)
    # What is near shares enough with one document, so also with all of them together. Nearly every
    # document fails here and costs no signature.
    if not len(own) or _known(own, held_out.known) < held_out.threshold * len(own):
        return []
    places = held_out.candidates(own)
    compared = (Match(place, similarity(own, held_out.shingles[place])) for place in places)
    return [match for match in compared if match.similarity >= held_out.threshold]


def near(
    train: Iterable[str], val: Iterable[str], threshold: float = THRESHOLD
) -> frozenset[bytes]:
    """Digests of the training documents that are near to some held-out document.

    Both are read once; of `train` one document is in memory at a time. A document that is equal to
    a held-out one is near to it.

    Raises:
        ValueError: `threshold` is not above 0 and at most 1.
    """
    held_out = signatures(val, threshold)
    return frozenset(digest(document) for document in train if matches(document, held_out))


def banding(threshold: float) -> tuple[int, int]:
    """Bands, and rows in each: the most rows that see all but `MISSED` of pairs at `threshold`.

    A pair of similarity s shares a band of r rows with probability s^r, and none of b bands with
    (1 - s^r)^b (Leskovec, Rajaraman and Ullman 2014).
    """
    every = range(1, PERMUTATIONS // 2 + 1)
    fitting = (r for r in every if (1 - threshold**r) ** (PERMUTATIONS // r) <= MISSED)
    rows = max(fitting, default=1)
    return PERMUTATIONS // rows, rows


def _signed(blank: MinHash, own: Shingles) -> MinHash:
    signed = blank.copy()
    block = 1 << 14  # rows of (block, permutations) in memory
    for start in range(0, len(own), block):
        signed.update_batch(own[start : start + block].tolist())
    return signed


def _known(own: Shingles, known: Shingles) -> int:
    """How many of `own` are in `known`."""
    if not len(known):
        return 0
    places = np.searchsorted(known, own)
    return int(np.count_nonzero(known[np.minimum(places, len(known) - 1)] == own))
