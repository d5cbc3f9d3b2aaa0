"""Text from the network, token by token, from a seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from andrea.model.cache import Cache
from andrea.model.filters import Flags, Ids, Sampling, choose
from andrea.model.gpt import GPT

Prompts = NDArray[np.integer] | Sequence[NDArray[np.integer]]


def generate(
    model: GPT, prompts: Prompts, tokens: int, temperature: float, top_k: int, key: tuple[int, ...]
) -> Ids:
    """Continue every prompt by `tokens` tokens, all of them at once; see `stream`.

    Returns:
        The added ids, (B, tokens).

    Raises:
        ValueError: a prompt is empty.
    """
    sampling = Sampling(temperature, top_k)
    added: Ids = np.empty((len(prompts), tokens), dtype=np.int64)
    for number, ids in enumerate(stream(model, prompts, tokens, sampling, key)):
        added[:, number] = ids
    return added


def stream(
    model: GPT,
    prompts: Prompts,
    tokens: int,
    sampling: Sampling,
    key: tuple[int, ...],
    first: Flags | None = None,
) -> Iterator[Ids]:
    """Continue every prompt, and yield each token as soon as it is drawn.

    A text of at most the context is seen whole. Of a longer one, the network sees what stands from
    `window_start` on, read anew: positions are learned, so keys cannot move.

    Neither torch's random state nor any other global setting of it is read or changed.

    Args:
        model: in fp32 or under autocast.
        prompts: ids, (B, P) or B arrays (P,) of any length from 1.
        tokens: to add to each, at most: whoever has enough stops asking.
        sampling: how a token is taken. Its penalty looks at the whole text, prompt included.
        key: of the random stream; what draws token t of row b depends on (key, t, b) alone.
        first: (V,) the tokens that the added text may begin with; None for all.

    Yields:
        The next id of every row, (B,).

    Raises:
        ValueError: a prompt is empty.
    """
    ends = np.array([len(prompt) for prompt in prompts])
    if not ends.all():
        raise ValueError(f"prompt {ends.argmin()}: no token; it may begin with the start of text")
    rows = np.arange(len(ends))
    text = np.zeros((len(ends), ends.max() + tokens), dtype=np.int64)
    held = np.zeros((len(ends), len(model.token)), dtype=np.bool_)
    for row, prompt in enumerate(prompts):
        text[row, : len(prompt)] = prompt
        held[row, prompt] = True
    cache = Cache(model, len(ends), min(text.shape[1], model.context))
    starts = np.full(len(ends), -1)
    for number in range(tokens):
        before, starts = starts, window_start(ends, model.context)
        _fill(cache, text, starts, ends, np.flatnonzero(starts != before))
        # The last token of each row is read again though a fresh window holds it already: one way
        # to the logits for rows that were read anew and rows that were not.
        logits = cache.step(text[rows, ends - 1], ends - 1 - starts).cpu().double().numpy()
        if first is not None and number == 0:
            logits = np.where(first, logits, -np.inf)
        # Keyed by the token's number, so that a text does not depend on how long it is to become.
        uniforms = np.random.default_rng([*key, number]).random(len(ends))
        drawn = choose(logits, sampling, held, uniforms)
        text[rows, ends] = drawn
        held[rows, drawn] = True
        ends = ends + 1
        yield drawn


def window_start(lengths: Ids, context: int) -> Ids:
    """Where the text that the network sees begins.

    Args:
        lengths: tokens of each text, (B,).

    Returns:
        (B,): 0 up to the context, then the first multiple of half of it that leaves no more than a
        context behind it. So a window is read anew once in half a context, and depends on the
        length alone.
    """
    stride = context - context // 2
    starts: Ids = np.maximum(0, -((context - lengths) // stride)) * stride
    return starts


def _fill(cache: Cache, text: Ids, starts: Ids, ends: Ids, rows: Ids) -> None:
    """Read the windows of `rows`, shorter ones filled up on the right."""
    if not rows.size:
        return
    width = (ends - starts)[rows].max()
    columns = np.minimum(starts[rows][:, None] + np.arange(width), text.shape[1] - 1)
    cache.fill(rows, text[rows[:, None], columns])
