"""How much of what a model has read it can recite, beside text of the same source it never read.

A passage is extractable if the model, given its first 32 tokens, continues with the next 32 under
greedy decoding (Carlini et al. 2022, "Quantifying memorization across neural language models").

A prompt is how a training sequence began, so it stands where the model read it, with nothing before
it. Positions are learned: the same model hardly recites text that it read at other positions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from andrea.common.seeds import Purpose
from andrea.model.gpt import GPT
from andrea.tokens.tokenizer import BOS, Tokens
from andrea.training.machine import Machine

Integers = NDArray[np.int64]

HALF_TOKENS = 32  # of a prompt, and of what must follow
TRIES = 16  # starts looked at per passage wanted: many are too close to a document's end
Z = 1.959963984540054  # normal quantile of a two-sided 95 % interval


@dataclass(frozen=True)
class Memorization:
    """One source's passages, read ones (`train`) and never-seen ones (`control`).

    Attributes:
        prompts_train, prompts_control: passages tried.
        extracted_train, extracted_control: share of them that was recited to the end; None where
            there was none to try.
        difference: of the two shares, with the 95 % interval `low` to `high`; None if one is.
        matched_tokens_train, matched_tokens_control: mean number of tokens recited before the
            first wrong one.
        note: why something is None; else empty.
    """

    prompts_train: int
    prompts_control: int
    extracted_train: float | None
    extracted_control: float | None
    difference: float | None
    low: float | None
    high: float | None
    matched_tokens_train: float | None
    matched_tokens_control: float | None
    note: str


def measure(
    model: GPT,
    train: Tokens,
    read: Integers,
    held_out: Tokens,
    count: int,
    key: tuple[int, ...],
    rows: int,
    machine: Machine,
) -> Memorization:
    """Try passages of one source that the model has read, and as many that it has not.

    Args:
        train: the source's training documents, each with BOS before it; `held_out` likewise.
        read: sequences of it that training has given, each once, (n,).
        count: of passages of each kind; fewer where too few are long enough.
        key: of the draw, such as (seed, source).
        rows: passages per forward pass.
    """
    seed, *counters = key
    half = half_tokens(model.context)
    unread = np.arange(0, len(held_out) - 2 * half + 1, 2 * half, dtype=np.int64)
    matched = []
    for kind, (tokens, starts) in enumerate(((train, read * model.context), (held_out, unread))):
        rng = np.random.default_rng([seed, Purpose.EXTRACTION, *counters, kind])
        drawn = passages(tokens, starts, 2 * half, count, rng)
        matched.append(matched_tokens(model, drawn, rows, machine))
    return compare(matched[0], matched[1], half, "" if len(read) else "not read")


def half_tokens(context: int) -> int:
    """Tokens of a prompt: 32, or less where a sequence does not hold twice as many."""
    return min(HALF_TOKENS, (context + 1) // 2)


def passages(
    tokens: Tokens, starts: Integers, length: int, count: int, rng: np.random.Generator
) -> Integers:
    """Draw passages that lie in one document each.

    Args:
        tokens: of documents, each after its BOS.
        starts: where in it a passage may begin, each with `length` tokens from there on, (n,); only
            a bounded number is looked at.
        length: L, of a passage in tokens.

    Returns:
        Ids without BOS, (at most `count`, L).
    """
    tried = rng.choice(starts, min(len(starts), TRIES * count), replace=False)
    cut = (tokens[start : start + length] for start in tried.tolist())
    whole = list(islice((passage for passage in cut if BOS not in passage), count))
    return np.array(whole, dtype=np.int64).reshape(len(whole), length)


def matched_tokens(model: GPT, passages: Integers, rows: int, machine: Machine) -> Integers:
    """How many tokens of each passage's second half greedy decoding gets right before it errs.

    Nothing is generated. As long as every token so far was right, what greedy decoding has written
    is the passage itself, so the likeliest token at each place of the true text is the one that it
    would write there; of equally likely ones the first, as in `andrea.model.generate`. Only where
    two logits differ by no more than rounding could the two disagree.

    Args:
        passages: ids, (n, 2 H); `rows` of them are read per forward pass.

    Returns:
        0 to H for each, (n,).
    """
    half = passages.shape[1] // 2
    counts = [np.zeros(0, dtype=np.int64)]
    for first in range(0, len(passages), rows):
        here = passages[first : first + rows]
        inputs = torch.from_numpy(here[:, :-1]).to(machine.device)
        with torch.no_grad(), machine.autocast():
            logits = model.head(model.features(inputs)[:, half - 1 :])
        right = logits.float().cpu().numpy().argmax(axis=-1) == here[:, half:]
        counts.append(np.cumprod(right, axis=1).sum(axis=1))
    return np.concatenate(counts)


def compare(train: Integers, control: Integers, half: int, note: str = "") -> Memorization:
    """Shares and their difference, from the matched tokens of both kinds of passages.

    Args:
        train: matched tokens of each passage that was read, (n,).
        control: of each that was not, (m,).
        half: H, what counts as recited to the end.
        note: why `train` is empty, where that is known.
    """
    sides = {"train": train, "control": control}
    recited = {kind: int((matched == half).sum()) for kind, matched in sides.items()}
    figures: dict[str, Any] = {f"prompts_{kind}": len(matched) for kind, matched in sides.items()}
    for kind, matched in sides.items():
        n = len(matched)
        figures[f"extracted_{kind}"] = recited[kind] / n if n else None
        figures[f"matched_tokens_{kind}"] = float(matched.mean()) if n else None
    apart: tuple[float | None, ...] = (None, None, None)
    if len(train) and len(control):
        apart = difference(recited["train"], len(train), recited["control"], len(control))
    elif not note:
        kind = "held-out" if len(train) else "training"
        note = f"no {kind} passage of {2 * half} tokens"
    figures |= zip(("difference", "low", "high"), apart, strict=True)
    return Memorization(**figures, note=note)


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Interval of 95 % for a share (Wilson 1927): low and high."""
    share, weight = hits / of, Z * Z / of
    middle = (share + weight / 2) / (1 + weight)
    reach = Z * math.sqrt(share * (1 - share) / of + weight / (4 * of)) / (1 + weight)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def difference(hits: int, of: int, other_hits: int, other_of: int) -> tuple[float, float, float]:
    """Difference of two independent shares, and low and high of its interval of 95 %.

    The interval is Newcombe's (1998, method 10): the reaches of both Wilson intervals, added as
    squares. It is of use where shares are 0 or 1, as here they mostly are.
    """
    share, other = hits / of, other_hits / other_of
    low, high = wilson(hits, of)
    other_low, other_high = wilson(other_hits, other_of)
    apart = share - other
    return (
        apart,
        apart - math.hypot(share - low, other_high - other),
        apart + math.hypot(high - share, other - other_low),
    )


def overall(by_source: Mapping[str, Memorization]) -> dict[str, Any]:
    """Means over the sources that could be compared, and the worst of them.

    The interval of the mean difference adds the sources' reaches as squares (Zou & Donner 2008),
    as each source's own interval does with its two shares.

    Returns:
        `extracted_train`, `extracted_control`, `difference`, `low`, `high`, `matched_tokens_train`,
        `matched_tokens_control`, and of the source with the largest difference, among equals of
        matched tokens, `worst_source`, `worst_difference`, `worst_low`, `worst_high`. Empty where
        no source could be compared.
    """
    compared = {name: one for name, one in by_source.items() if one.difference is not None}
    if not compared:
        return {}

    def column(name: str) -> NDArray[np.float64]:
        return np.array([getattr(one, name) for one in compared.values()], dtype=np.float64)

    names = (
        "extracted_train", "extracted_control", "difference",
        "matched_tokens_train", "matched_tokens_control",
    )  # fmt: skip
    means = {name: float(column(name).mean()) for name in names}
    apart, k = column("difference"), len(compared)
    further = column("matched_tokens_train") - column("matched_tokens_control")
    worst = max(zip(apart, further, compared, strict=True))[2]
    return {
        **means,
        "low": means["difference"] - math.hypot(*(apart - column("low"))) / k,
        "high": means["difference"] + math.hypot(*(column("high") - apart)) / k,
        "worst_source": worst,
        "worst_difference": compared[worst].difference,
        "worst_low": compared[worst].low,
        "worst_high": compared[worst].high,
    }
