"""The token table as a space of vectors: distances, neighbours, a map.

A token is a row of the table; a word is the mean of the rows of its tokens, spelled with the space
before it, as words mostly stand in text. The mean is a convention: a network reads the tokens of a
word one by one and never forms it.

Letters: V tokens, d width, n vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Encode = Callable[[Sequence[str]], Sequence[NDArray[np.integer]]]
Method = Literal["pca", "tsne"]

PERPLEXITY = 30.0  # neighbours that t-SNE keeps near each other; its authors advise 5 to 50


class Separation(NamedTuple):
    """How far apart two vectors are."""

    euclidean: float  # length of their difference, in the table's own units
    cosine: float  # of the angle between them, -1 to 1; 0 if one of them is zero


@dataclass(frozen=True)
class Neighbours:
    """What is nearest to each of q vectors, nearest by cosine first."""

    ids: Integers  # rows, (q, k)
    cosine: Floats  # (q, k), falling
    euclidean: Floats  # (q, k)


@dataclass(frozen=True)
class Map:
    """A picture of vectors in the plane.

    On a PCA map distances are those of the shadow that keeps most variance, and `shares` says how
    much that is: where it is little, near on the map need not be near. On a t-SNE map only who is
    near whom means something; sizes of groups and the distances between them do not.
    """

    method: Method  # `pca` or `tsne`
    places: Floats  # (n, 2)
    shares: tuple[float, ...]  # share of the variance along each axis; empty for t-SNE


def unit(vectors: NDArray[np.floating]) -> Floats:
    """Vectors (..., d) made of length 1; zero stays zero."""
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    directions: Floats = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
    return directions


def separation(one: NDArray[np.floating], other: NDArray[np.floating]) -> Separation:
    """Distance and cosine of two vectors, (d,) each."""
    apart = one.astype(np.float64) - other.astype(np.float64)
    return Separation(float(np.linalg.norm(apart)), float(unit(one) @ unit(other)))


def spell(words: Sequence[str], encode: Encode) -> list[Integers]:
    """Token ids of each word with a space before it."""
    return [ids.astype(np.int64) for ids in encode([f" {word}" for word in words])]


def word_vectors(table: NDArray[np.floating], spelled: Sequence[Integers]) -> Floats:
    """Each word as the mean of its tokens' rows, (n, d).

    Args:
        table: (V, d).
        spelled: token ids of each of n words, none of them empty.
    """
    lengths = np.array([len(ids) for ids in spelled], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    rows = table[np.concatenate(spelled)].astype(np.float64)
    sums: Floats = np.add.reduceat(rows, starts, axis=0)
    return sums / lengths[:, None]


def neighbours(vectors: NDArray[np.floating], queries: Integers, count: int) -> Neighbours:
    """The rows nearest to some of them by cosine, equal ones by row; none is its own neighbour.

    Args:
        vectors: of tokens or words, (n, d).
        queries: rows, (q,); memory grows with q n.
        count: k; fewer where there are no more.
    """
    directions = unit(vectors)
    cosines = directions[queries] @ directions.T
    cosines[np.arange(len(queries)), queries] = -np.inf
    count = min(count, len(vectors) - 1)
    ids = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
    apart = vectors[ids].astype(np.float64) - vectors[queries].astype(np.float64)[:, None]
    return Neighbours(ids, np.take_along_axis(cosines, ids, axis=1), np.linalg.norm(apart, axis=-1))


def principal(vectors: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Principal components of vectors around their mean (Pearson 1901; Hotelling 1933).

    Returns:
        Variances along the components, (d,), falling; components as columns, (d, d), each turned so
        that its largest feature is positive.
    """
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    variances, axes = np.linalg.eigh(centred.T @ centred / len(centred))
    variances, axes = np.maximum(variances[::-1], 0.0), axes[:, ::-1]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0)
    return variances, axes * np.sign(largest)


def draw_map(vectors: NDArray[np.floating], method: Method, seed: int) -> Map:
    """Place the directions of vectors in the plane; lengths, which follow frequency, are left out.

    t-SNE (van der Maaten & Hinton 2008; Barnes-Hut, van der Maaten 2014) starts from the PCA map
    and runs on one thread, so that equal input gives equal places.

    Args:
        vectors: (n, d) with d >= 2; n >= 2, for t-SNE >= 4.
        seed: of t-SNE; PCA draws nothing.
    """
    directions = unit(vectors)
    if method == "tsne":
        return Map(method, _tsne(directions, seed), ())
    variances, axes = principal(directions)
    places = (directions - directions.mean(axis=0)) @ axes[:, :2]
    total = variances.sum()
    shares = variances[:2] / total if total > 0 else np.zeros(2)
    return Map(method, places, tuple(shares.tolist()))


def _tsne(directions: Floats, seed: int) -> Floats:
    # Two seconds, which only this map pays.
    from sklearn.manifold import TSNE  # type: ignore[import-untyped]
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    perplexity = min(PERPLEXITY, (len(directions) - 1) / 3)
    with threadpool_limits(limits=1):
        tsne = TSNE(2, perplexity=perplexity, init="pca", random_state=seed)
        return np.asarray(tsne.fit_transform(directions), dtype=np.float64)
