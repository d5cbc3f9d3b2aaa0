"""The walk: phases of a few steps, each with one weight vector of the region.

A random phase teleports to a uniform point of the region; a bandit phase steps towards the vertex
that scores best. Every random choice is keyed by (seed, purpose, regime, phase), so that a state is
all a resume needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from andrea.common.seeds import Purpose
from andrea.config.training import Bandit, Curriculum
from andrea.mixture import bandit, rewards
from andrea.mixture.bandit import BanditState
from andrea.mixture.rewards import RewardState
from andrea.mixture.simplex import Region, Vector, best_vertex, draw, project, settled
from andrea.mixture.volume import centre

Kind = Literal["random", "bandit", "fixed"]


@dataclass(frozen=True)
class Phase:
    """Steps `start_step` to `start_step + steps - 1` train on the mixture `weights`, (k,)."""

    kind: Kind
    start_step: int
    steps: int
    weights: tuple[float, ...]

    @property
    def end_step(self) -> int:
        """First step after the phase."""
        return self.start_step + self.steps


@dataclass(frozen=True)
class CurriculumState:
    """Where the walk stands."""

    weights: tuple[float, ...]  # of the present phase, (k,)
    active: tuple[bool, ...]  # sources that the present region does not exclude, (k,)
    phases: int  # begun so far, over all regimes
    bandit: BanditState
    rewards: RewardState  # what the rewards remember


def init(k: int) -> CurriculumState:
    """The state before the first regime: equal weights, no source active."""
    return CurriculumState((1 / k,) * k, (False,) * k, 0, bandit.init(k), rewards.init(k))


def enter_regime(state: CurriculumState, region: Region, cfg: Bandit) -> CurriculumState:
    """Go on in another region from the nearest point to where the walk stands (the pivot).

    The bandit keeps what it knows; see `bandit.change_region`.
    """
    return replace(
        state,
        weights=tuple(project(state.weights, region).tolist()),
        active=tuple(region.active.tolist()),
        bandit=bandit.change_region(state.bandit, state.active, region.active, cfg),
    )


def next_phase(
    state: CurriculumState,
    region: Region,
    step: int,
    end_step: int,
    key: tuple[int, int],
    curriculum_cfg: Curriculum,
    bandit_cfg: Bandit,
) -> tuple[Phase, CurriculumState]:
    """Begin a phase at `step`.

    Args:
        state: the walk in `region` (after `enter_regime`).
        end_step: first step after the regime; the phase is cut there.
        key: (seed, index of the regime).
        bandit_cfg: rule; under `fixed` every phase has the same weights.

    Returns:
        The phase, and the state with its weights.

    Raises:
        ValueError: `step` is not before `end_step`.
    """
    if step >= end_step:
        raise ValueError(f"a phase at step {step} of a regime that ends before step {end_step}")
    shortest, longest = curriculum_cfg.shortest_phase, curriculum_cfg.longest_phase
    length = int(_rng(key, Purpose.PHASE_LENGTH, state).integers(shortest, longest + 1))
    kind: Kind = "bandit"
    if bandit_cfg.rule == "fixed":
        kind = "fixed"
        weights = project(centre(region), region)
    elif _rng(key, Purpose.PHASE_KIND, state).random() < curriculum_cfg.random_share:
        kind = "random"
        weights = draw(region, _rng(key, Purpose.DRAW, state))
    else:
        score = bandit.scores(state.bandit, bandit_cfg)
        if bandit_cfg.rule == "exp3":
            score = score + _rng(key, Purpose.EXP3, state).gumbel(size=score.size)
        eta = curriculum_cfg.eta
        step_to = (1 - eta) * np.array(state.weights) + eta * best_vertex(score, region)
        weights = settled(step_to, region)
    phase = Phase(kind, step, min(length, end_step - step), tuple(weights.tolist()))
    return phase, replace(state, weights=phase.weights, phases=state.phases + 1)


def observe_step(state: CurriculumState, losses: ArrayLike, fresh: ArrayLike) -> CurriculumState:
    """Remember one training step; see `rewards.observe_step`."""
    return replace(state, rewards=rewards.observe_step(state.rewards, losses, fresh))


def end_phase(
    state: CurriculumState,
    tokens: ArrayLike,
    cfg: Bandit,
    probe_before: ArrayLike | None = None,
    probe_after: ArrayLike | None = None,
) -> tuple[Vector, CurriculumState]:
    """Pay the sources for the phase that ends now.

    Args:
        state: with every step of the phase observed.
        tokens: trained in the phase, (k,), not all 0.
        probe_before: loss on each probe when the phase began, (k,); only reward `probe`.
        probe_after: the same now, (k,).

    Returns:
        Rewards (k,), and the state.
    """
    trained = np.asarray(tokens, dtype=np.float64)
    paid, memory = rewards.phase_rewards(state.rewards, probe_before, probe_after, trained, cfg)
    learned = bandit.update(state.bandit, paid, trained / trained.sum(), cfg)
    return paid, replace(state, bandit=learned, rewards=memory)


def _rng(key: tuple[int, int], purpose: Purpose, state: CurriculumState) -> np.random.Generator:
    seed, regime = key
    return np.random.default_rng([seed, purpose, regime, state.phases])
