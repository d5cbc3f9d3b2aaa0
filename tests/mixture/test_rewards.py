from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import theilslopes

from andrea.common.codec import decode, encode
from andrea.config.training import Bandit
from andrea.mixture import rewards
from andrea.mixture.rewards import RewardState, ema_step, observe_step, phase_rewards, theil_sen
from tests.stored import stored

EMA, SLOPE, PROBE = (
    Bandit("ducb", reward, discount=0.9, exploration=0.5, probe_rows=1)
    for reward in ("ema", "slope", "probe")
)


def _slopes(phases: int, deviation: float, seed: int) -> np.ndarray:
    """Rewards `slope` of four sources: constant, pure noise, learning, learning with noise."""
    rng = np.random.default_rng(seed)
    state, paid = rewards.init(4), []
    for _ in range(phases):
        for step in range(int(rng.integers(7, 43))):
            falling = 3 - 0.002 * step
            noise = rng.normal(0, deviation, 2)
            losses = [2, 2 + noise[0], falling, falling + noise[1]]
            state = observe_step(state, losses, np.ones(4))
        reward, state = phase_rewards(state, None, None, np.full(4, 1000), SLOPE)
        paid.append(reward)
    return np.array(paid)


def _probes(phases: int, deviation: float, seed: int) -> np.ndarray:
    """Rewards `probe` of four sources: constant, pure noise, learning slowly, learning fast."""
    rng = np.random.default_rng(seed)
    state, paid = rewards.init(4), []
    before = np.array([2, 2, 3, 3.0])
    for phase in range(phases):
        after = np.array([2, 2 + rng.normal(0, deviation), 3 - 0.001 * phase, 3 - 0.01 * phase])
        reward, state = phase_rewards(state, before, after, np.full(4, 1000), PROBE)
        before = after
        paid.append(reward)
    return np.array(paid)


def _within_noise_of_zero(values: np.ndarray) -> bool:
    return bool(abs(values.mean()) < 3 * values.std() / math.sqrt(values.size))


@pytest.mark.parametrize("deviation", [0.02, 0.2, 1.0])
def test_pure_noise_earns_nothing(deviation: float) -> None:
    for paid in (_slopes(200, deviation, 0), _probes(600, deviation, 0)):
        assert (paid[:, 0] == 0).all()
        assert _within_noise_of_zero(paid[:, 1])
        assert abs(paid).max() <= 1


def test_learning_is_paid() -> None:
    slopes, probes = _slopes(100, 0.02, 1), _probes(200, 0.002, 1)
    assert slopes[:, 2].mean() > 0.5
    assert slopes[:, 3].mean() > 0.5
    assert probes[20:, 3].mean() > 0.9
    assert 0.05 < probes[20:, 2].mean() < 0.5


def test_the_published_reward_pays_about_400_for_noise() -> None:
    """Known fault of the baseline: deviation 1, nothing learned, 1000 * 1.026 / sqrt(2 pi)."""
    rng = np.random.default_rng(0)
    state, paid = rewards.init(2), []
    for _ in range(300):
        for _ in range(24):
            state = observe_step(state, [4.5 + rng.normal(), 4.5], [True, True])
        reward, state = phase_rewards(state, None, None, [1, 1], EMA)
        paid.append(reward)
    noise, constant = np.mean(paid, axis=0)
    assert noise == pytest.approx(
        1000 * math.sqrt(1 + 0.1 / 1.9) / math.sqrt(2 * math.pi), rel=0.03
    )
    assert constant == pytest.approx(0, abs=1e-9)


def test_golden_ema() -> None:
    after, reward = ema_step(np.array([4.521]), np.array([4.520]))
    assert after[0] == pytest.approx(4.5209, abs=1e-15)
    assert reward[0] == 1.000000000000334


def test_ema_starts_at_the_first_loss_and_waits_for_the_next() -> None:
    state = observe_step(rewards.init(2), [5.0, math.nan], [True, True])
    reward, state = phase_rewards(state, None, None, [10, 0], EMA)
    assert reward.tolist() == [0, 0]
    assert state.averages == (5.0, None)
    state = observe_step(state, [math.nan, 4.0], [True, True])
    state = observe_step(state, [4.0, 3.0], [True, True])
    reward, state = phase_rewards(state, None, None, [10, 20], EMA)
    assert reward == pytest.approx(np.array([1000, 500]))  # mean over the steps it was seen
    assert state.averages == pytest.approx((4.9, 3.9))


def test_theil_sen_equals_scipy() -> None:
    losses = np.random.default_rng(0).normal(size=(30, 5))
    losses[::3, 1] = math.nan
    losses[1:, 2] = math.nan
    losses[:, 3] = math.nan
    slopes = theil_sen(losses)
    for source in (0, 1, 4):
        steps = np.flatnonzero(~np.isnan(losses[:, source]))
        expected = theilslopes(losses[steps, source], steps)[0]
        assert slopes[source] == pytest.approx(expected, abs=1e-15)
    assert np.isnan(slopes[[2, 3]]).all()
    assert np.isnan(theil_sen(losses[:1])).all()


def test_slope_looks_at_first_epochs_only_and_is_robust() -> None:
    state = rewards.init(3)
    for step in range(20):
        outlier = 50.0 if step == 19 else 0.0
        losses = [3 - 0.01 * step, 3 - 0.01 * step + outlier, 3 - 0.01 * step]
        state = observe_step(state, losses, [True, True, False])
    reward, _ = phase_rewards(state, None, None, [100, 100, 100], SLOPE)
    assert reward[0] == pytest.approx(1)
    assert reward[1] == pytest.approx(1)
    assert reward[2] == 0


def test_probe_is_per_token_of_the_source() -> None:
    reward, state = phase_rewards(
        rewards.init(3), [3.0, 3.0, 3.0], [2.9, 2.9, 2.9], [100, 200, 0], PROBE
    )
    assert state.history[0][:2] == pytest.approx((0.001, 0.0005))
    assert state.history[0][2] is None
    assert reward[0] == 1
    assert reward[2] == 0


def test_the_unit_of_the_loss_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    states = [rewards.init(3), rewards.init(3)]
    for _ in range(25):
        before, after = rng.random((2, 3))
        paid = []
        for index, unit in enumerate((1.0, 1024.0)):
            reward, states[index] = phase_rewards(
                states[index], unit * before, unit * after, [10, 20, 30], PROBE
            )
            paid.append(reward)
        assert (paid[0] == paid[1]).all()
    assert len(states[0].history) == rewards.WINDOW


def test_probe_needs_losses() -> None:
    with pytest.raises(ValueError, match="probe losses"):
        phase_rewards(rewards.init(1), None, None, [1], PROBE)


@pytest.mark.parametrize("cfg", [EMA, SLOPE, PROBE])
def test_an_infinite_loss_is_none(cfg: Bandit) -> None:
    """Of a step that was skipped, or on a probe: the state stays JSON, the rewards numbers."""
    state = rewards.init(3)
    for step in range(4):
        losses = [math.inf if step == 2 else 1 / (step + 1), 1.0, -math.inf]
        state = observe_step(state, losses, [True] * 3)
    assert state.losses[2] == state.fresh[2] == (None, 1.0, None)
    paid, state = phase_rewards(state, [math.inf, 2.0, 1.0], [1.0, 1.0, math.inf], [1, 1, 1], cfg)
    assert np.isfinite(paid).all()
    assert np.abs(paid).max() <= (np.inf if cfg is EMA else 1)
    assert stored(state) == state
    assert cfg is not PROBE or paid.tolist() == [0, 1, 0]


def test_noise_is_the_deviation_of_the_estimate() -> None:
    rng = np.random.default_rng(0)
    values, ratios = [], []
    for _ in range(60):
        state = rewards.init(2)
        for _ in range(20):
            after = np.array([0, -1.0]) + rng.normal(0, [0.1, 0.0])
            _, state = phase_rewards(state, np.zeros(2), after, [1, 1], PROBE)
        scale = np.abs(np.quantile(np.array(state.history), [0.2, 0.8])).max()
        values.append(rewards.noise(state))
        ratios.append(0.1 / scale)
    assert np.mean(values, axis=0)[0] == pytest.approx(np.mean(ratios), rel=0.1)
    assert np.mean(values, axis=0)[1] == pytest.approx(0, abs=1e-12)
    assert np.isnan(rewards.noise(rewards.init(2))).all()


@pytest.mark.parametrize("cfg", [EMA, SLOPE, PROBE])
def test_json_round_trip_in_the_middle_of_a_phase(cfg: Bandit) -> None:
    rng = np.random.default_rng(0)
    state = rewards.init(3)
    for phase in range(3):
        for step in range(9):
            losses = np.where(rng.random(3) < 0.3, math.nan, rng.random(3))
            state = observe_step(state, losses, rng.random(3) < 0.8)
            again = decode(
                json.loads(json.dumps(encode(state), allow_nan=False)), RewardState, "state"
            )
            assert again == state, (phase, step)
        _, state = phase_rewards(again, rng.random(3), rng.random(3), [1, 2, 0], cfg)
