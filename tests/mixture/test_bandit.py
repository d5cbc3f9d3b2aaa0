from __future__ import annotations

import math

import numpy as np
import pytest

from andrea.config.training import Bandit
from andrea.mixture import bandit
from andrea.mixture.bandit import BanditState
from tests.stored import stored

DUCB = Bandit("ducb", "probe", discount=0.9, exploration=0.5, probe_rows=1)
UCB1 = Bandit("ucb1", "probe", discount=0.9, exploration=0.5, probe_rows=1)
EXP3 = Bandit("exp3", "probe", discount=0.9, exploration=0.3, probe_rows=1)
FIXED = Bandit("fixed", "probe", discount=0.9, exploration=0.5, probe_rows=1)


def _known(pulls: list[float], rewards: list[float]) -> BanditState:
    return BanditState(tuple(pulls), tuple(rewards), (False,) * len(pulls))


def test_unseen_arms_come_first() -> None:
    state = bandit.update(bandit.init(3), [1, 5, 0], [0.5, 0, 0.5], DUCB)
    assert np.isinf(bandit.scores(state, DUCB)).tolist() == [False, True, False]
    assert np.isinf(bandit.scores(bandit.init(3), EXP3)).all()


def test_scores_are_the_formula_as_published() -> None:
    state = _known([4.0, 2.0], [2.0, 1.5])
    bonus = [0.5 * math.sqrt(math.log(6) / pulls) for pulls in state.pulls]
    expected = np.array([0.5 + bonus[0], 0.75 + bonus[1]])
    for rule in (DUCB, UCB1):
        assert bandit.scores(state, rule) == pytest.approx(expected, abs=1e-15)
    assert bandit.scores(state, FIXED).tolist() == [0, 0]


def test_no_bonus_below_one_pull() -> None:
    assert bandit.scores(_known([0.3, 0.4], [0.3, 0.2]), DUCB) == pytest.approx(
        np.array([1.0, 0.5]), abs=1e-15
    )


def test_rewards_are_not_divided_by_their_probability() -> None:
    """A constant reward has its own mean, however small the source's share."""
    state = bandit.init(2)
    for _ in range(50):
        state = bandit.update(state, [0.4, 0.4], [0.99, 0.01], DUCB)
    means = np.array(state.rewards) / np.array(state.pulls)
    assert means == pytest.approx(np.array([0.4, 0.4]), abs=1e-12)
    assert sum(state.pulls) == pytest.approx(10, rel=0.01)


def test_discount_forgets_and_ucb1_does_not() -> None:
    means = {}
    for rule in (DUCB, UCB1):
        state = bandit.init(1)
        for phase in range(100):
            state = bandit.update(state, [1.0 if phase < 50 else 0.0], [1.0], rule)
        means[rule.rule] = state.rewards[0] / state.pulls[0]
    assert means["ucb1"] == 0.5
    assert means["ducb"] < 0.01


def test_a_reward_without_pulls_changes_nothing() -> None:
    state = _known([1.0, 1.0], [0.5, 0.5])
    for rule in (DUCB, EXP3):
        blank = bandit.update(state, [0.3, math.nan], [1.0, 0.0], rule)
        assert blank == bandit.update(state, [0.3, 7.0], [1.0, 0.0], rule)


def test_the_best_of_stationary_arms_is_found_and_the_others_are_not_forgotten() -> None:
    rng = np.random.default_rng(0)
    state, chosen = bandit.init(4), np.zeros(4)
    for _ in range(400):
        arm = int(np.argmax(bandit.scores(state, UCB1)))
        chosen[arm] += 1
        state = bandit.update(state, rng.normal([0, 0.2, 0.7, 0.1], 0.3), np.eye(4)[arm], UCB1)
    assert chosen.argmax() == 2
    assert chosen[2] > 250
    assert chosen.min() > 1


def test_exp3_is_hedge_with_a_floor() -> None:
    state = bandit.init(3)
    for _ in range(300):
        state = bandit.update(state, [0.0, 1.0, -1.0], [0.98, 0.01, 0.01], EXP3)
    probability = np.exp(bandit.scores(state, EXP3))
    assert probability.sum() == pytest.approx(1, abs=1e-12)
    assert state.rewards == pytest.approx((0, 10, -10), rel=0.01)
    powers = np.exp(0.3 * np.array(state.rewards))
    assert probability == pytest.approx(0.7 * powers / powers.sum() + 0.1, abs=1e-12)


def test_exp3_needs_a_probability() -> None:
    bad = Bandit("exp3", "probe", discount=0.9, exploration=1.5, probe_rows=1)
    with pytest.raises(ValueError, match=r"bandit\.exploration: 1\.5"):
        bandit.scores(_known([1.0], [0.0]), bad)


def test_a_new_region_keeps_the_arms_and_explores_new_ones_once() -> None:
    state = bandit.init(4)
    state = bandit.update(state, [1.0, 0.0, 9.0, 9.0], [0.5, 0.5, 0, 0], DUCB)
    moved = bandit.change_region(state, [1, 1, 0, 0], [1, 0, 1, 1], DUCB)
    assert moved.pulls == pytest.approx((0.45, 0.45, 1 / 3, 1 / 3))
    assert moved.rewards == pytest.approx((0.45, 0.0, 0.5 / 3, 0.5 / 3))
    assert moved.waiting == (False, False, True, True)
    after = bandit.update(moved, [0, 0, 0, 0], [0.5, 0, 0.5, 0], DUCB)
    assert after.waiting == (False, False, False, True)


def test_an_arm_that_comes_back_keeps_its_statistics() -> None:
    state = _known([2.0, 4.0], [1.0, 1.0])
    back = bandit.change_region(state, [1, 0], [1, 1], UCB1)
    assert (back.pulls, back.rewards, back.waiting) == ((2.0, 4.0), (1.0, 1.0), (False, True))


def test_new_arms_under_exp3_start_from_the_mean_gain() -> None:
    state = BanditState((1.0, 1.0, 0.0), (4.0, 2.0, 0.0), (False, False, True))
    moved = bandit.change_region(state, [1, 1, 0], [1, 1, 1], EXP3)
    assert moved.rewards == pytest.approx((3.6, 1.8, 2.7))


def test_long_exclusion_is_no_division_by_zero() -> None:
    state = bandit.update(bandit.init(2), [0.5, 0.5], [0.5, 0.5], DUCB)
    for _ in range(8000):
        state = bandit.update(state, [0.5, 0.0], [1.0, 0.0], DUCB)
    assert np.isfinite(bandit.scores(state, DUCB)).all()


def test_json_round_trip() -> None:
    state = bandit.update(bandit.init(3), [0.1, 0.2, 0.3], [1 / 3, 0.1, 0], DUCB)
    assert stored(state) == state
