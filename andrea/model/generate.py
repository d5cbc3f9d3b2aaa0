"""Text from the network, token by token, from a seed.

A distribution is made from logits by pure functions of (B, V), each to the same shape, which take
tokens out by -inf; `draw` takes one token per row from what is left. They count in float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from andrea.model.cache import Cache, Ids
from andrea.model.gpt import GPT

Floats = NDArray[np.float64]


def generate(
    model: GPT,
    prompts: NDArray[np.integer] | Sequence[NDArray[np.integer]],
    tokens: int,
    temperature: float,
    top_k: int,
    key: tuple[int, ...],
) -> Ids:
    """Continue every prompt by `tokens` tokens.

    A text of at most the context is seen whole. Of a longer one, the network sees what stands from
    `window_start` on, read anew: positions are learned, so keys cannot move.

    Neither torch's random state nor any other global setting of it is read or changed.

    Args:
        model: in fp32 or under autocast.
        prompts: ids, (B, P) or B arrays (P,) of any length from 1.
        tokens: to add to each.
        temperature: divides the logits; 0 takes the most likely token.
        top_k: most likely tokens that may be drawn.
        key: of the random stream; what draws token t of row b depends on (key, t, b) alone.

    Returns:
        The added ids, (B, tokens).

    Raises:
        ValueError: a prompt is empty.
    """
    ends = np.array([len(prompt) for prompt in prompts])
    if not ends.all():
        raise ValueError(f"prompt {ends.argmin()}: no token; it may begin with the start of text")
    rows = np.arange(len(ends))
    text = np.zeros((len(ends), ends.max() + tokens), dtype=np.int64)
    for row, prompt in zip(text, prompts, strict=True):
        row[: len(prompt)] = prompt
    cache = Cache(model, len(ends), min(text.shape[1], model.context))
    starts = np.full(len(ends), -1)
    for number in range(tokens):
        before, starts = starts, window_start(ends, model.context)
        _fill(cache, text, starts, ends, np.flatnonzero(starts != before))
        logits = cache.step(text[rows, ends - 1], ends - 1 - starts).cpu().double().numpy()
        uniforms = np.random.default_rng([*key, number]).random(len(ends))
        text[rows, ends] = choose(logits, temperature, top_k, uniforms)
        ends = ends + 1
    added: Ids = text[rows[:, None], (ends - tokens)[:, None] + np.arange(tokens)]
    return added


def window_start(lengths: Ids, context: int) -> Ids:
    """Where the text that the network sees begins.

    Args:
        lengths: tokens of each text, (B,).
        context: most tokens that the network sees.

    Returns:
        (B,): 0 up to the context, then the first multiple of half of it that leaves no more than a
        context behind it. So a window is read anew once in half a context, and depends on the
        length alone.
    """
    stride = context - context // 2
    starts: Ids = np.maximum(0, -((context - lengths) // stride)) * stride
    return starts


def choose(logits_BV: Floats, temperature: float, top_k: int, uniforms_B: Floats) -> Ids:
    """One token id per row, (B,); the likeliest, and of equals the first, at temperature 0."""
    if temperature == 0:
        likeliest: Ids = logits_BV.argmax(1)
        return likeliest
    return draw(warm(keep_likeliest(logits_BV, top_k), temperature), uniforms_B)


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


def _fill(cache: Cache, text: Ids, starts: Ids, ends: Ids, rows: Ids) -> None:
    """Read the windows of `rows`, shorter ones filled up on the right."""
    if not rows.size:
        return
    width = (ends - starts)[rows].max()
    columns = np.minimum(starts[rows][:, None] + np.arange(width), text.shape[1] - 1)
    cache.fill(rows, text[rows[:, None], columns])
