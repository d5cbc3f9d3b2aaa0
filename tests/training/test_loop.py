from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from andrea.common.errors import UserError
from andrea.config.training import Bandit
from andrea.mixture.simplex import Region
from andrea.training import checkpoint, state
from andrea.training.loop import Data, Regime, Settings, run_regime
from andrea.training.records import StepStats
from andrea.training.state import TrainState


def new(settings: Settings) -> TrainState:
    return state.new(settings.scale, settings.optimizer, 3, settings.seed, "cpu")


def run(
    settings: Settings, data: Data, regimes: Sequence[Regime]
) -> tuple[TrainState, list[StepStats]]:
    training = new(settings)
    steps = [stats for regime in regimes for stats in run_regime(training, regime, data, settings)]
    return training, steps


def saved(training: TrainState, path: Path) -> bytes:
    checkpoint.save(path, training, {})
    return path.read_bytes()


def test_two_runs_give_the_same_bytes(
    settings: Settings, data: Data, regimes: list[Regime], tmp_path: Path
) -> None:
    first, second = (saved(run(settings, data, regimes)[0], tmp_path / n) for n in "ab")
    assert first == second
    other = run(replace(settings, seed=6), data, regimes)[0]
    assert saved(other, tmp_path / "c") != first


@pytest.mark.parametrize("reward", ["probe", "slope", "ema"])
@pytest.mark.parametrize("stop", [1, 7, 10, 18, 25, 33])
def test_going_on_from_a_checkpoint_gives_the_same_bytes(
    settings: Settings, data: Data, regimes: list[Regime], tmp_path: Path, stop: int, reward: str
) -> None:
    settings = replace(settings, bandit=replace(settings.bandit, reward=reward))
    whole = saved(run(settings, data, regimes)[0], tmp_path / "whole")
    training = new(settings)
    for regime in regimes:
        for stats in run_regime(training, regime, data, settings):
            if stats.step + 1 == stop:
                checkpoint.save(tmp_path / "stop", training, {})
                training = new(settings)
                checkpoint.load(tmp_path / "stop", training)
                break
        for _ in run_regime(training, regime, data, settings):
            pass
    assert saved(training, tmp_path / "resumed") == whole


def test_an_excluded_source_is_never_read(
    settings: Settings, data: Data, regimes: list[Regime]
) -> None:
    _, steps = run(settings, data, regimes)
    rows = np.array([stats.sequences for stats in steps])
    assert not rows[:10, 2].any()
    assert not rows[25:, 0].any()
    assert rows[10:, 2].any()
    assert (rows.sum(1) == 4).all()


def test_phases_cover_the_run_and_keep_to_their_regime(
    settings: Settings, data: Data, regimes: list[Regime]
) -> None:
    _, steps = run(settings, data, regimes)
    phases = [stats.finished.phase for stats in steps if stats.finished]
    starts = [phase.start_step for phase in phases]
    assert starts[0] == 0
    assert starts[1:] == [phase.end_step for phase in phases][:-1]
    assert phases[-1].end_step == 40
    assert {10, 25} <= set(starts)
    assert {phase.kind for phase in phases} == {"random", "bandit"}


def test_accumulation_is_one_large_batch(
    settings: Settings, accumulated: Settings, data: Data, regimes: list[Regime]
) -> None:
    whole, halves = (run(each, data, regimes[:1]) for each in (settings, accumulated))
    for one, two in zip(whole[0].model.parameters(), halves[0].model.parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-5)
    assert whole[1][0].loss == pytest.approx(halves[1][0].loss, rel=1e-6)
    assert whole[0].tokens == halves[0].tokens == 10 * 4 * 8


def test_losses_by_source_average_to_the_loss(
    settings: Settings, data: Data, regimes: list[Regime]
) -> None:
    for stats in run(settings, data, regimes)[1]:
        mean = np.nansum(stats.loss_by_source * stats.sequences) / stats.sequences.sum()
        assert mean == pytest.approx(stats.loss, rel=1e-5)


def test_it_learns(settings: Settings, data: Data) -> None:
    """One sequence per source, read over and over, is known by heart."""
    short = Data([stream[:9] for stream in data.train], data.probe, data.byte_lengths)
    long = replace(settings, scale=replace(settings.scale, steps=400))
    everything = Regime(0, Region(np.zeros(3), np.ones(3)), 400)
    training = new(long)
    last = [stats.loss for stats in run_regime(training, everything, short, long)][-1]
    assert last < 0.05


def test_a_step_that_is_not_finite_is_skipped_and_three_stop_the_run(
    settings: Settings, data: Data, regimes: list[Regime], monkeypatch: pytest.MonkeyPatch
) -> None:
    training = new(settings)
    steps = run_regime(training, regimes[0], data, settings)
    next(steps)
    before = [weights.detach().clone() for weights in training.model.parameters()]
    honest = training.model.mean_nats

    def broken(*tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, losses = honest(*tokens)
        return mean * torch.nan, losses

    monkeypatch.setattr(training.model, "mean_nats", broken)
    next(steps)
    next(steps)
    assert training.skipped == 2
    assert all(map(torch.equal, before, training.model.parameters()))
    monkeypatch.setattr(training.model, "mean_nats", honest)
    next(steps)
    assert training.skipped_in_a_row == 0
    assert not all(map(torch.equal, before, training.model.parameters()))
    monkeypatch.setattr(training.model, "mean_nats", broken)
    with pytest.raises(UserError, match="third time in a row"):
        list(steps)


def test_a_fixed_rule_stays_at_the_centre(
    settings: Settings, data: Data, regimes: list[Regime]
) -> None:
    fixed: Bandit = replace(settings.bandit, rule="fixed")
    _, steps = run(replace(settings, bandit=fixed), data, regimes[:2])
    assert {stats.kind for stats in steps} == {"fixed"}
    assert {stats.weights for stats in steps[:10]} == {(0.5, 0.5, 0.0)}
    np.testing.assert_allclose(steps[-1].weights, 1 / 3, rtol=1e-12)


def test_a_regime_without_steps_hands_the_state_through(
    settings: Settings, data: Data, regimes: list[Regime]
) -> None:
    training, _ = run(settings, data, regimes[:1])
    before = training.to_json()
    assert list(run_regime(training, replace(regimes[1], end_step=10), data, settings)) == []
    assert training.to_json() == before
