"""Which sources pay: a pure state machine over k arms that are all observed at once.

A phase trains on every source that has weight, so each update sees every one of them (semi-bandit
feedback) and no reward is divided by a sampling probability.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from andrea.config.training import Bandit
from andrea.mixture.simplex import Vector

SMALLEST = 1e-100  # pulls of an arm that has been excluded for thousands of phases


@dataclass(frozen=True)
class BanditState:
    """Discounted statistics of k arms."""

    pulls: tuple[float, ...]  # N, in phases: an arm's pulls are its share of a phase's sequences
    rewards: tuple[float, ...]  # S; the sum of reward times pulls (UCB) or of rewards (EXP3)
    waiting: tuple[bool, ...]  # arms that are owed one exploration


def init(k: int) -> BanditState:
    """A state of k arms that nobody has pulled."""
    return BanditState((0.0,) * k, (0.0,) * k, (True,) * k)


def scores(state: BanditState, cfg: Bandit) -> Vector:
    """What each arm promises, (k,); +inf for an arm that is owed an exploration.

    `ducb` (Garivier and Moulines 2011): S_i / N_i + c sqrt(ln(sum N) / N_i), the logarithm not
    below 0; `ucb1` (Auer et al. 2002a) is the same without discount. `exp3`
    (Auer et al. 2002b): ln of (1 - c) softmax(c S) + c / k; adding Gumbel noise and taking the
    best draws an arm from it. `fixed`: all 0.

    Raises:
        ValueError: `exp3` with an exploration outside 0..1.
    """
    pulls, rewards = np.array(state.pulls), np.array(state.rewards)
    waiting = np.array(state.waiting)
    if cfg.rule == "fixed":
        return np.zeros(pulls.size)
    if cfg.rule == "exp3":
        promise = _exp3(rewards, cfg.exploration)
    else:
        known = np.maximum(pulls, SMALLEST)
        horizon = max(0.0, float(np.log(max(1.0, pulls.sum()))))
        promise = rewards / known + cfg.exploration * np.sqrt(horizon / known)
    return np.where(waiting, np.inf, promise)


def update(state: BanditState, rewards: ArrayLike, pulls: ArrayLike, cfg: Bandit) -> BanditState:
    """The state after one phase.

    Args:
        rewards: one a source, (k,); ignored where `pulls` is 0.
        pulls: shares of the phase's sequences, (k,), sum 1.

    Returns:
        N <- g N + pulls and S <- g S + reward * pulls; under EXP3 every seen arm gains its whole
        reward instead, since its share is a choice of ours and not evidence.
    """
    share = np.asarray(pulls, dtype=np.float64)
    seen = share > 0
    gain = np.where(seen, np.asarray(rewards, dtype=np.float64), 0.0)
    weight = seen if cfg.rule == "exp3" else share
    discount = _discount(cfg)
    return BanditState(
        tuple((discount * np.array(state.pulls) + share).tolist()),
        tuple((discount * np.array(state.rewards) + gain * weight).tolist()),
        tuple((np.array(state.waiting) & ~seen).tolist()),
    )


def change_region(
    state: BanditState, old_active: ArrayLike, new_active: ArrayLike, cfg: Bandit
) -> BanditState:
    """The state after the region has changed.

    Statistics stay, discounted once more. An arm that becomes active is owed one exploration; if it
    was never pulled it starts from the pooled mean of the known arms, weighted as one phase of
    equal shares.

    Args:
        old_active: sources that the old region did not exclude, (k,).
        new_active: the same for the new region, (k,).
    """
    before, after = np.asarray(old_active, dtype=bool), np.asarray(new_active, dtype=bool)
    discount = _discount(cfg)
    pulls, rewards = discount * np.array(state.pulls), discount * np.array(state.rewards)
    new = after & ~before
    known = pulls > 0
    unknown = new & ~known
    if known.any() and unknown.any():
        prior = 1 / np.count_nonzero(after)
        weights = known if cfg.rule == "exp3" else pulls
        mean = rewards.sum() / weights.sum()
        rewards[unknown] = mean if cfg.rule == "exp3" else mean * prior
        pulls[unknown] = prior
    waiting = np.array(state.waiting) | new
    return BanditState(tuple(pulls.tolist()), tuple(rewards.tolist()), tuple(waiting.tolist()))


def _exp3(gains: Vector, exploration: float) -> Vector:
    if not 0 <= exploration <= 1:
        raise ValueError(f"bandit.exploration: {exploration} with rule exp3; allowed is 0 to 1")
    powers = np.exp(exploration * (gains - gains.max()))
    floor = exploration / gains.size
    return np.asarray(np.log((1 - exploration) * powers / powers.sum() + floor))


def _discount(cfg: Bandit) -> float:
    return 1.0 if cfg.rule == "ucb1" else cfg.discount
