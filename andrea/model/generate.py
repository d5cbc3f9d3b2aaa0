"""Text from the network, token by token, from a seed."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from andrea.model.gpt import GPT


def generate(
    model: GPT,
    prompts: NDArray[np.integer],
    tokens: int,
    temperature: float,
    top_k: int,
    key: tuple[int, ...],
) -> NDArray[np.int64]:
    """Continue every prompt by `tokens` tokens.

    Args:
        model: in fp32 or under autocast.
        prompts: (B, P) ids, P at most the context.
        tokens: to add to each.
        temperature: divides the logits; 0 takes the most likely token.
        top_k: most likely tokens that may be drawn (Fan et al. 2018).
        key: of the random stream; token t of row b depends on (key, t, b) alone.

    Returns:
        The added ids, (B, tokens).
    """
    device = model.token.device
    ids = torch.from_numpy(np.asarray(prompts, dtype=np.int64)).to(device)
    for number in range(tokens):
        with torch.no_grad():
            logits = model(ids[:, -model.context :])[:, -1].cpu().double().numpy()
        uniform = np.random.default_rng([*key, number]).random(len(ids))
        chosen = [draw(row, temperature, top_k, u) for row, u in zip(logits, uniform, strict=True)]
        ids = torch.cat([ids, torch.tensor(chosen, device=device)[:, None]], dim=1)
    added: NDArray[np.int64] = ids[:, prompts.shape[1] :].cpu().numpy()
    return added


def draw(logits: NDArray[np.float64], temperature: float, top_k: int, uniform: float) -> int:
    """One token id from logits (V,) by inverting the distribution function at `uniform`.

    Likelier tokens come first, equal ones by id.
    """
    order = np.argsort(-logits, kind="stable")[: top_k if temperature > 0 else 1]
    if len(order) == 1:
        return int(order[0])
    powers = np.exp((logits[order] - logits[order[0]]) / temperature)
    place = np.searchsorted(np.cumsum(powers), uniform * powers.sum(), side="right")
    return int(order[min(int(place), len(order) - 1)])
