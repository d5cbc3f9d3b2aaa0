"""How much the heads of a network look through the same window.

The matrix that makes a head's queries, keys or values sees the stream's d features only in the
directions that its k rows span. Principal angles (Bjorck & Golub 1973) say how two such subspaces
lie to one another: 0 degrees is a shared direction, 90 one that the other cannot see.

L layers, H heads, N = L H heads in the order of the layers, k features per head, P projections.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.model.gpt import GPT, Block

Floats = NDArray[np.float64]

PROJECTIONS = ("query", "key", "value")
RANDOM_PAIRS = 32


@dataclass(frozen=True)
class Subspaces:
    """What the heads share, and what random subspaces of the same ranks would."""

    # Directions that a head sees, (P, N): k unless its matrix lacks full rank.
    rank: NDArray[np.int64]
    # Mean squared cosine of the principal angles of two heads, as many as the smaller rank, (P, N,
    # N): 0 for windows at right angles, 1 where one holds the other. Look for what is several
    # `deviation` from `expected`: above it heads read the same features, below it they share the
    # stream out among themselves.
    squared_cosine: Floats
    expected: Floats  # its mean over random subspaces, (P, N, N): k / d at full rank
    deviation: Floats  # its standard deviation over random subspaces, (P, N, N)
    # Principal angles of the heads of a layer, rising, (P, L, H, H, k). Directions that a head of
    # smaller rank lacks count as 90.
    angles_degrees: Floats
    random_angles_degrees: Floats  # their mean over random pairs of k dimensions, (k,)


def compare(model: GPT, key: tuple[int, ...]) -> Subspaces:
    """Compare the subspaces that the heads of a network read.

    Args:
        model: its weights alone are read.
        key: of the random stream that draws the pairs for `random_angles_degrees`.
    """
    weights_LPHkd = np.stack([_projections(block) for block in model.blocks])
    bases_PLHkd, rank_PLH = bases(weights_LPHkd.swapaxes(0, 1))
    k, d = bases_PLHkd.shape[3:]
    rank_PN = rank_PLH.reshape(len(PROJECTIONS), -1)
    shared_PNN = np.stack([_squared_cosines(bases_LHkd) for bases_LHkd in bases_PLHkd])
    one_PNN, other_PNN = np.broadcast_arrays(rank_PN[:, :, None], rank_PN[:, None, :])
    smaller_PNN = np.maximum(np.minimum(one_PNN, other_PNN), 1)
    rng = np.random.default_rng(key)
    random_Pkd, _ = bases(rng.standard_normal((2, RANDOM_PAIRS, k, d)))
    return Subspaces(
        rank_PN,
        shared_PNN / smaller_PNN,
        one_PNN * other_PNN / d / smaller_PNN,
        random_deviation(one_PNN, other_PNN, d) / smaller_PNN,
        angles(bases_PLHkd[:, :, :, None], bases_PLHkd[:, :, None, :]),
        angles(*random_Pkd).mean(0),
    )


def bases(weights_kd: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Orthonormal bases of the spaces that rows span.

    Args:
        weights_kd: matrices, before k any axes.

    Returns:
        Bases, (k, d), with rows of zeros past the rank; and the ranks. A singular value below the
        largest times max(k, d) fp32 epsilons counts as none, as the weights are fp32.
    """
    _, sizes_k, rows_kd = np.linalg.svd(weights_kd, full_matrices=False)
    least = max(weights_kd.shape[-2:]) * np.finfo(np.float32).eps
    real_k = sizes_k > sizes_k[..., :1] * least
    return rows_kd * real_k[..., None], real_k.sum(-1)


def angles(one_kd: Floats, other_kd: Floats) -> Floats:
    """Principal angles between spaces by their bases, in degrees, rising, (k,)."""
    cosines_k = np.linalg.svd(one_kd @ other_kd.swapaxes(-1, -2), compute_uv=False)
    degrees: Floats = np.degrees(np.arccos(np.clip(cosines_k, 0, 1)))
    return degrees


def random_deviation(
    one: NDArray[np.int64], other: NDArray[np.int64], width: int
) -> NDArray[np.float64]:
    """Standard deviation of the summed squared cosines of two random subspaces of R^width.

    The variance of tr(A U B U') over uniform rotations U (Weingarten calculus, Collins & Sniady
    2006) for projectors A and B of the given ranks. Its mean is one * other / width.
    """
    spread = one * (width - one) * other * (width - other)
    deviation: Floats = np.sqrt(2 * spread / (width**2 * max(1, (width - 1) * (width + 2))))
    return deviation


def _projections(block: object) -> Floats:
    """Query, key and value matrices of every head, (P, H, k, d)."""
    assert isinstance(block, Block)
    weights = block.qkv.detach().cpu().double().numpy()
    width = weights.shape[1]
    heads: Floats = weights.reshape(len(PROJECTIONS), block.heads, width // block.heads, width)
    return heads


def _squared_cosines(bases_LHkd: Floats) -> Floats:
    """Sums over the principal angles of all pairs of heads, (N, N)."""
    L, H, k, d = bases_LHkd.shape
    rows_Lrd = bases_LHkd.reshape(L, H * k, d)
    sums_LHLH = np.empty((L, H, L, H))
    for one in range(L):
        for other in range(one + 1):
            squares_rr = np.square(rows_Lrd[one] @ rows_Lrd[other].T)
            sums_HH = squares_rr.reshape(H, k, H, k).sum((1, 3))
            sums_LHLH[one, :, other] = sums_HH
            sums_LHLH[other, :, one] = sums_HH.T
    return sums_LHLH.reshape(L * H, L * H)
