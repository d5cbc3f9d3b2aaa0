"""What may be drawn next: pure functions from logits to logits, (B, V) float64 to the same shape.

They take tokens out by -inf. `draw` takes one token per row from what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from andrea.common.codec import Range

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Sampling:
    """How a token is taken; as it stands here, by the network's own probabilities.

    What the text holds is penalised first, then come top-k, temperature, top-p and min-p.
    """

    temperature: Annotated[float, Range(0)] = 1.0  # divides the logits; 0 takes the likeliest token
    top_k: Annotated[int, Range(0)] = 0  # most tokens that may be drawn; 0 stands for all
    # The likeliest tokens may be drawn that have this share of the probability together.
    top_p: Annotated[float, Range(0, 1, above=True)] = 1.0
    # Least probability of a token that may be drawn, as a share of the likeliest one's.
    min_p: Annotated[float, Range(0, 1)] = 0.0
    # Divides the logit of what the text holds; 1 is none.
    repetition_penalty: Annotated[float, Range(0, above=True)] = 1.0


def choose(logits_BV: Floats, sampling: Sampling, held_BV: Flags, uniforms_B: Floats) -> Ids:
    """One token id per row, (B,).

    Args:
        logits_BV: of the next token, read only.
        sampling: which tokens may be drawn. At temperature 0 it is the likeliest, and of equals
            the first.
        held_BV: tokens that the text holds already.
        uniforms_B: in [0, 1), one for each row.
    """
    if sampling.repetition_penalty != 1:
        logits_BV = discourage(logits_BV, held_BV, sampling.repetition_penalty)
    if sampling.temperature == 0:
        likeliest: Ids = logits_BV.argmax(1)
        return likeliest
    if sampling.top_k:
        logits_BV = keep_likeliest(logits_BV, sampling.top_k)
    logits_BV = warm(logits_BV, sampling.temperature)
    if sampling.top_p < 1:
        logits_BV = keep_nucleus(logits_BV, sampling.top_p)
    if sampling.min_p > 0:
        logits_BV = keep_near(logits_BV, sampling.min_p)
    return draw(logits_BV, uniforms_B)


def discourage(logits_BV: Floats, held_BV: Flags, penalty: float) -> Floats:
    """Logits of tokens seen before divided by the penalty (Keskar et al. 2019).

    A negative one is multiplied instead, so that a penalty above 1 always makes less likely.
    """
    penalised = np.where(logits_BV > 0, logits_BV / penalty, logits_BV * penalty)
    return np.where(held_BV, penalised, logits_BV)


def warm(logits_BV: Floats, temperature: float) -> Floats:
    """Logits over the temperature, above 0; the largest of a row becomes 0 (Ackley et al. 1985)."""
    warmed: Floats = (logits_BV - logits_BV.max(1, keepdims=True)) / temperature
    return warmed


def keep_likeliest(logits_BV: Floats, count: int) -> Floats:
    """The largest `count` logits of each row, of equals the first; -inf for all others.

    Known as top-k sampling (Fan et al. 2018).
    """
    if count >= logits_BV.shape[1]:
        return logits_BV
    least = -np.partition(-logits_BV, count - 1)[:, count - 1 : count]
    above, equal = logits_BV > least, logits_BV == least
    open_places = count - above.sum(1, keepdims=True)
    return np.where(above | (equal & (equal.cumsum(1) <= open_places)), logits_BV, -np.inf)


def keep_nucleus(logits_BV: Floats, share: float) -> Floats:
    """The fewest likeliest tokens whose probabilities reach `share`, of equals the first.

    Known as top-p or nucleus sampling (Holtzman et al. 2020). The likeliest always stays.
    """
    order_BV = np.argsort(-logits_BV, axis=1, kind="stable")
    ranked_BV = np.take_along_axis(logits_BV, order_BV, axis=1)
    sums_BV = np.exp(ranked_BV - ranked_BV[:, :1]).cumsum(1)
    likelier_BV = np.concatenate([np.zeros_like(sums_BV[:, :1]), sums_BV[:, :-1]], axis=1)
    kept_BV = np.empty(logits_BV.shape, dtype=np.bool_)
    np.put_along_axis(kept_BV, order_BV, likelier_BV < share * sums_BV[:, -1:], axis=1)
    return np.where(kept_BV, logits_BV, -np.inf)


def keep_near(logits_BV: Floats, share: float) -> Floats:
    """Tokens at least `share` times as probable as the likeliest one.

    Known as min-p sampling (Nguyen et al. 2024).
    """
    powers_BV = np.exp(logits_BV - logits_BV.max(1, keepdims=True))
    return np.where(powers_BV >= share, logits_BV, -np.inf)


def draw(logits_BV: Floats, uniforms_B: Floats) -> Ids:
    """One token id per row, (B,), by inverting the distribution function at a uniform in [0, 1).

    Likelier tokens come first, equal ones by id. A token at -inf is never drawn: a multiple of
    2^-53 below 1 times the sum of all powers rounds to less than that sum.
    """
    most = np.count_nonzero(logits_BV > -np.inf, axis=1).max()
    order_BK = np.argsort(-logits_BV, axis=1, kind="stable")[:, :most]
    rows_B = np.arange(len(order_BK))
    ranked_BK = logits_BV[rows_B[:, None], order_BK]
    sums_BK = np.exp(ranked_BK - ranked_BK[:, :1]).cumsum(1)
    places_B = (sums_BK <= uniforms_B[:, None] * sums_BK[:, -1:]).sum(1)
    drawn: Ids = order_BK[rows_B, places_B]
    return drawn
