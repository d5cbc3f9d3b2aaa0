"""What each head is like over text: how sharply, how far and at what it looks.

L layers, H heads, k features per head, T tokens, B sequences, F measures; in (T, T) the query's row
comes first. Weights are fp32, means over positions and sequences fp64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from andrea.geometry.heads.measure.attention import Ids, causal_softmax, features, steps
from andrea.model.gpt import GPT, Block

Floats = NDArray[np.float64]

EDGE = 0.05  # of the different ids, at either end of their order by frequency, is never drawn


@dataclass(frozen=True)
class PerHead:
    """One number for each head, in arrays of one shape, mostly (L, H).

    All are means over the positions after the first, which sees only itself.
    """

    # Entropy of the weights over the logarithm of how many tokens are seen: 1 looks everywhere
    # alike, 0 at one token, wherever the position stands.
    entropy_share: Floats
    distance_tokens: Floats  # how far back the weights look
    # On the first token of the sequence. Much of it is a head at rest (the attention sink of Xiao
    # et al. 2023).
    first_token_weight: Floats
    previous_token_weight: Floats  # on the token before
    # On the tokens that followed earlier copies of the token, over the positions whose token came
    # before: the prefix matching score of Olsson et al. 2022.
    induction_weight: Floats
    largest_weight: Floats  # of the position
    unscaled_entropy_share: Floats  # `entropy_share` if scores were not divided by sqrt(k)
    unscaled_largest_weight: Floats  # `largest_weight`, likewise
    # Standard deviation of a position's scores before the division, as a root mean square. It is
    # sqrt(k) for independent features of variance 1, which is why Vaswani et al. 2017 divide by
    # that.
    score_spread: Floats


@dataclass(frozen=True)
class Statistics:
    """`PerHead` over sequences."""

    features: int  # k
    mean: PerHead  # over sequences, (L, H)
    standard_error: PerHead  # of the mean, sequences taken as independent, (L, H)
    # Of a head that looks everywhere alike, on the same sequences, (1, 1). Only what is far from it
    # tells something of a head.
    uniform: PerHead


def head_names(layers: int, heads: int) -> list[str]:
    """Heads as people call them, in the order of the layers; both counts begin at 1."""
    return [f"{layer + 1}.{head + 1}" for layer in range(layers) for head in range(heads)]


def statistics(model: GPT, tokens_BT: Ids) -> Statistics:
    """Measure every head over sequences.

    On held-out text the induction weight is that of natural repeats, of which common tokens have
    many; on `repeated_tokens` it is the score of Olsson et al. A sequence may start inside a
    document and hold several, as in training.

    One sequence is in work at a time. Neither the network nor torch's global state changes.

    Args:
        model: fp32.
        tokens_BT: ids, at least two sequences of 2 tokens to the context.

    Raises:
        ValueError: the shape is not allowed, or fewer than two sequences have a token that comes
            again.
    """
    B, T = tokens_BT.shape
    if B < 2 or not 2 <= T <= model.context:
        raise ValueError(f"{B} sequences of {T} tokens: needed are two, of 2 to {model.context}")
    alike = torch.zeros(1, T, T)
    seen = np.array([_layers(model, tokens_T) for tokens_T in tokens_BT])
    uniform = np.array([[_values(measure(alike, 1, tokens_T))] for tokens_T in tokens_BT])
    mean, standard_error = _over_sequences(seen)
    return Statistics(_head_features(model), mean, standard_error, _over_sequences(uniform)[0])


def measure(scores_HTT: Tensor, head_features: int, tokens_T: Ids) -> PerHead:
    """`PerHead` of one layer on one sequence, in arrays (H,).

    Args:
        tokens_T: the sequence, two tokens or more. If none comes again the induction weight is not
            a number.
    """
    device = scores_HTT.device
    place_T = torch.arange(len(tokens_T), device=device)
    back_TT = (place_T[:, None] - place_T).clamp_min(0)
    follows_TT = torch.from_numpy(followers(tokens_T)).to(device)
    weights_HTT = causal_softmax(scores_HTT / math.sqrt(head_features))
    unscaled_HTT = causal_softmax(scores_HTT)
    return PerHead(
        entropy_share=_mean(_entropy_share(weights_HTT)),
        distance_tokens=_mean((weights_HTT * back_TT).sum(2)[:, 1:]),
        first_token_weight=_mean(weights_HTT[:, 1:, 0]),
        previous_token_weight=_mean(weights_HTT.diagonal(-1, 1, 2)),
        induction_weight=_mean((weights_HTT * follows_TT).sum(2)[:, follows_TT.any(1)]),
        largest_weight=_mean(weights_HTT.amax(2)[:, 1:]),
        unscaled_entropy_share=_mean(_entropy_share(unscaled_HTT)),
        unscaled_largest_weight=_mean(unscaled_HTT.amax(2)[:, 1:]),
        score_spread=np.sqrt(_mean(_visible_variance(scores_HTT))),
    )


def followers(tokens_T: Ids) -> NDArray[np.bool_]:
    """Where an induction head looks from each token (Olsson et al. 2022), (T, T).

    True at (i, j) where token j stands before token i and right after an earlier copy of it.
    """
    follows_TT: NDArray[np.bool_] = np.zeros((len(tokens_T), len(tokens_T)), dtype=np.bool_)
    follows_TT[:, 1:] = tokens_T[:, None] == tokens_T[:-1]
    return np.tril(follows_TT, -1)


def repeated_tokens(
    tokens_BT: Ids, first: int, rows: int, length: int, repeats: int, key: tuple[int, ...]
) -> NDArray[np.int64]:
    """Sequences in which only a look back tells what comes next (Olsson et al. 2022).

    Each is `first` and then, `repeats` times over, the same `length` different tokens in random
    order, drawn from the ids of a text but for its most common and its rarest. Olsson et al.
    take 25 tokens and 4 repeats.

    Args:
        tokens_BT: the text.
        first: the id that starts a document; it is not drawn.
        repeats: at least 2.
        key: of the random stream; row b depends on (key, b) alone.

    Returns:
        Ids, (B, 1 + length * repeats).

    Raises:
        ValueError: the text has too few different ids.
    """
    found, counts = np.unique(tokens_BT[tokens_BT != first], return_counts=True)
    edge = int(EDGE * len(found))
    usual = found[np.argsort(counts, kind="stable")][edge : len(found) - edge]
    if len(usual) < length:
        raise ValueError(f"{length} different tokens to repeat, the text has {len(usual)}")
    sequences = np.full((rows, 1 + length * repeats), first, dtype=np.int64)
    for row, sequence in enumerate(sequences):
        drawn = np.random.default_rng([*key, row]).choice(usual, length, replace=False)
        sequence[1:] = np.tile(drawn, repeats)
    return sequences


def _layers(model: GPT, tokens_T: Ids) -> list[list[Floats]]:
    """Measures of every layer, (L, F, H), in the order of the fields of `PerHead`."""
    layers = []
    head_features = _head_features(model)

    def attend(q_BHTk: Tensor, k_BHTk: Tensor, v_BHTk: Tensor) -> Tensor:
        scores_BHTT, _, weights_BHTT = steps(q_BHTk, k_BHTk)
        layers.append(_values(measure(scores_BHTT[0], head_features, tokens_T)))
        return weights_BHTT @ v_BHTk

    features(model, tokens_T, attend)
    return layers


def _head_features(model: GPT) -> int:
    first = model.blocks[0]
    assert isinstance(first, Block)
    return model.token.shape[1] // first.heads


def _entropy_share(weights_HTT: Tensor) -> Tensor:
    """Of every position but the first, (H, T - 1)."""
    visible_T = torch.arange(2, weights_HTT.shape[2] + 1, device=weights_HTT.device)
    entropy_HT: Tensor = torch.special.entr(weights_HTT).sum(2)
    return entropy_HT[:, 1:] / visible_T.log()


def _visible_variance(scores_HTT: Tensor) -> Tensor:
    """Of the scores of every position but the first, (H, T - 1)."""
    visible_T = torch.arange(1, scores_HTT.shape[2] + 1, device=scores_HTT.device)
    mean_HT = scores_HTT.tril().sum(2) / visible_T
    squares_HT = (scores_HTT - mean_HT[:, :, None]).square().tril().sum(2)
    return squares_HT[:, 1:] / (visible_T[1:] - 1)


def _mean(values_HT: Tensor) -> Floats:
    mean: Floats = values_HT.double().mean(1).cpu().numpy()
    return mean


def _values(heads: PerHead) -> list[Floats]:
    return [getattr(heads, field.name) for field in fields(heads)]


def _over_sequences(values_BLFH: Floats) -> tuple[PerHead, PerHead]:
    """Mean, and its standard error, over the sequences that have the measure."""
    known_BLFH = ~np.isnan(values_BLFH)
    count_LFH = known_BLFH.sum(0)
    if count_LFH.min() < 2:
        raise ValueError("fewer than two sequences have a token that comes again")
    mean_LFH = np.where(known_BLFH, values_BLFH, 0).sum(0) / count_LFH
    squares_LFH = np.square(np.where(known_BLFH, values_BLFH - mean_LFH, 0)).sum(0)
    error_LFH = np.sqrt(squares_LFH / (count_LFH - 1) / count_LFH)
    return PerHead(*mean_LFH.swapaxes(0, 1)), PerHead(*error_LFH.swapaxes(0, 1))
