"""How much of its room a cloud of vectors uses, and how much of that is frequency.

Letters: n vectors, d width, b bins of frequency.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.geometry.vectors.measure.embeddings import principal, unit
from andrea.geometry.vectors.measure.frequency import Bins

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spectrum:
    """The shape of a cloud around its mean.

    Look at how far the ranks are below d: a table that the text has shaped is no ball, and one
    whose ranks are near 1 has collapsed.
    """

    shares: Floats  # of the variance along each principal component, (d,), falling
    # exp(H(s / sum s)) of the singular values s, 1 to d (Roy & Vetterli 2007).
    effective_rank: float
    # (sum v)^2 / sum v^2 of the variances v, 1 to d; weighs the large ones more.
    participation_ratio: float
    isotropy: float  # IsoScore, 0 (a line) to 1 (a ball) (Rudman et al. 2022)


@dataclass(frozen=True)
class Components:
    """The directions of most variance, and whether they tell no more than frequency.

    A correlation near 1 or -1 means that the component orders tokens by how often they occur, as
    the first ones of word vectors tend to (Mu & Viswanath 2018). Its sign is arbitrary.
    """

    shares: Floats  # of the variance, (k,)
    correlation: Floats  # of the coordinate with log(1 + count), (k,) (Pearson)


@dataclass(frozen=True)
class Cosines:
    """Mean cosine of different rows: by bin of frequency, and over all.

    0 is what rows without a common direction have. Where `same_bin` is well above `any_pair`,
    tokens lie in shells of like frequency, and closeness of two words of like frequency is in part
    just that.
    """

    by_bins: Floats  # of rows of two bins, (b, b); NaN for a bin of one row with itself
    any_pair: float  # of two different rows drawn from all (Ethayarajh 2019)
    # Of two different rows of one bin; the first is drawn from all that are not alone in theirs.
    # NaN where every row is.
    same_bin: float


def spectrum(vectors: NDArray[np.floating]) -> Spectrum:
    """Ranks and isotropy of a cloud.

    IsoScore needs no computing of its own: with phi of its definition, phi d is the participation
    ratio p, so that it is (p - 1) / (d - 1).

    Args:
        vectors: (n, d), d >= 2; the d components can hold variance only if n > d.

    Raises:
        ValueError: all vectors are equal.
    """
    variances, _ = principal(vectors)
    width, total = len(variances), variances.sum()
    if total == 0:
        raise ValueError("vectors that are all equal have no spectrum")
    shares = variances / total
    values = np.sqrt(shares)
    values = values[values > 0] / values.sum()
    ratio = float(1 / (shares**2).sum())
    rank = float(np.exp(-(values * np.log(values)).sum()))
    return Spectrum(shares, rank, ratio, (ratio - 1) / (width - 1))


def components(
    vectors: NDArray[np.floating], counts: NDArray[np.integer], number: int
) -> Components:
    """Share of variance of the top components, and what each has to do with frequency.

    Args:
        vectors: (n, d), not all equal.
        counts: occurrences of each, (n,).
        number: k, at most d.

    Raises:
        ValueError: all vectors are equal.
    """
    variances, axes = principal(vectors)
    if variances.sum() == 0:
        raise ValueError("vectors that are all equal have no components")
    coordinates = vectors.astype(np.float64) @ axes[:, :number]
    coordinates -= coordinates.mean(axis=0)
    logs = np.log1p(counts)
    logs -= logs.mean()
    lengths = np.linalg.norm(coordinates, axis=0) * np.linalg.norm(logs)
    products = logs @ coordinates
    correlation = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return Components(variances[:number] / variances.sum(), correlation)


def mean_cosines(vectors: NDArray[np.floating], bins: Bins) -> Cosines:
    """Mean cosines over all pairs of different rows, exact: sums of unit vectors are enough.

    Args:
        vectors: (n, d), n >= 2.
        bins: of the n rows.
    """
    directions = unit(vectors)
    here = np.eye(len(bins.lowest))[bins.member]
    sums, sizes = here.T @ directions, bins.sizes.astype(np.float64)
    own = here.T @ (directions**2).sum(axis=1)  # each row's cosine with itself
    products = sums @ sums.T - np.diag(own)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    by_bins = np.divide(products, pairs, out=np.full_like(products, np.nan), where=pairs > 0)
    weights = np.where(sizes > 1, sizes, 0.0)
    inside = np.where(sizes > 1, np.diag(by_bins), 0.0)
    same = float(weights @ inside / weights.sum()) if weights.any() else float("nan")
    return Cosines(by_bins, float(products.sum() / pairs.sum()), same)
