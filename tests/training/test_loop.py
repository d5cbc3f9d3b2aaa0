from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from andrea.common.errors import UserError
from andrea.training import checkpoint
from andrea.training.loop import run_regime
from andrea.training.records import StepStats
from andrea.training.run import Run
from andrea.training.state import TrainState
from tests.runs import new


def trained(regimes: Sequence[Run]) -> tuple[TrainState, list[StepStats]]:
    training = new(regimes[0])
    steps = [stats for regime in regimes for stats in run_regime(training, regime)]
    return training, steps


def each(regimes: Sequence[Run], **changes: Any) -> list[Run]:
    """The regimes with something changed in each."""
    return [replace(regime, **changes) for regime in regimes]


def saved(training: TrainState, path: Path) -> bytes:
    checkpoint.save(path, training, {})
    return path.read_bytes()


def test_two_runs_give_the_same_bytes(regimes: list[Run], tmp_path: Path) -> None:
    first, second = (saved(trained(regimes)[0], tmp_path / n) for n in "ab")
    assert first == second
    other = trained(each(regimes, seed=6))[0]
    assert saved(other, tmp_path / "c") != first


@pytest.mark.parametrize("reward", ["probe", "slope", "ema"])
@pytest.mark.parametrize("stop", [1, 7, 10, 18, 25, 33])
def test_going_on_from_a_checkpoint_gives_the_same_bytes(
    regimes: list[Run], tmp_path: Path, stop: int, reward: str
) -> None:
    regimes = each(regimes, bandit=replace(regimes[0].bandit, reward=reward))
    whole = saved(trained(regimes)[0], tmp_path / "whole")
    training = new(regimes[0])
    for regime in regimes:
        for stats in run_regime(training, regime):
            if stats.step + 1 == stop:
                checkpoint.save(tmp_path / "stop", training, {})
                training = new(regime)
                checkpoint.load(tmp_path / "stop", training)
                break
        for _ in run_regime(training, regime):
            pass
    assert saved(training, tmp_path / "resumed") == whole


def test_an_excluded_source_is_never_read(regimes: list[Run]) -> None:
    _, steps = trained(regimes)
    rows = np.array([stats.sequences for stats in steps])
    assert not rows[:10, 2].any()
    assert not rows[25:, 0].any()
    assert rows[10:, 2].any()
    assert (rows.sum(1) == 4).all()


def test_phases_cover_the_run_and_keep_to_their_regime(regimes: list[Run]) -> None:
    _, steps = trained(regimes)
    phases = [stats.finished.phase for stats in steps if stats.finished]
    starts = [phase.start_step for phase in phases]
    assert starts[0] == 0
    assert starts[1:] == [phase.end_step for phase in phases][:-1]
    assert phases[-1].end_step == 40
    assert {10, 25} <= set(starts)
    assert {phase.kind for phase in phases} == {"random", "bandit"}


def test_accumulation_is_one_large_batch(regimes: list[Run]) -> None:
    scale = replace(regimes[0].scale, micro_batch=2, grad_accumulation=2)
    whole, halves = trained(regimes[:1]), trained(each(regimes[:1], scale=scale))
    for one, two in zip(whole[0].model.parameters(), halves[0].model.parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-5)
    assert whole[1][0].loss == pytest.approx(halves[1][0].loss, rel=1e-6)
    assert whole[0].tokens == halves[0].tokens == 10 * 4 * 8


def test_losses_by_source_average_to_the_loss(regimes: list[Run]) -> None:
    for stats in trained(regimes)[1]:
        mean = np.nansum(stats.loss_by_source * stats.sequences) / stats.sequences.sum()
        assert mean == pytest.approx(stats.loss, rel=1e-5)


def test_it_learns(run: Run) -> None:
    """One sequence per source, read over and over, is known by heart."""
    short = [stream[:9] for stream in run.train]
    long = replace(run, train=short, scale=replace(run.scale, steps=400), end_step=400)
    _, steps = trained([long])
    assert steps[-1].loss < 0.05


def test_a_step_that_is_not_finite_is_skipped_and_three_stop_the_run(
    regimes: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    training = new(regimes[0])
    steps = run_regime(training, regimes[0])
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


def test_a_fixed_rule_stays_at_the_centre(regimes: list[Run]) -> None:
    _, steps = trained(each(regimes[:2], bandit=replace(regimes[0].bandit, rule="fixed")))
    assert {stats.kind for stats in steps} == {"fixed"}
    assert {stats.weights for stats in steps[:10]} == {(0.5, 0.5, 0.0)}
    np.testing.assert_allclose(steps[-1].weights, 1 / 3, rtol=1e-12)


def test_a_regime_without_steps_hands_the_state_through(regimes: list[Run]) -> None:
    training, _ = trained(regimes[:1])
    before = checkpoint.encoded(training)
    assert list(run_regime(training, replace(regimes[1], end_step=10))) == []
    assert checkpoint.encoded(training) == before
