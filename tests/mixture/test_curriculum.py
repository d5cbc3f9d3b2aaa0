from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from andrea.common.codec import decode, encode
from andrea.config.training import Bandit, Curriculum
from andrea.mixture import curriculum
from andrea.mixture.curriculum import CurriculumState, Phase, next_phase
from andrea.mixture.simplex import Region, best_vertex, project
from andrea.mixture.volume import centre
from tests.stored import stored

WALK = Curriculum(7, 42, 0.5, 0.3)
DUCB = Bandit("ducb", "probe", discount=0.9, exploration=0.5, probe_rows=1)
EXP3 = replace(DUCB, rule="exp3")
FIXED = replace(DUCB, rule="fixed")


def _enter(region: Region, cfg: Bandit = DUCB) -> CurriculumState:
    return curriculum.enter_regime(curriculum.init(region.lower.size), region, cfg)


def _walk(
    state: CurriculumState,
    region: Region,
    borders: tuple[int, int],
    key: tuple[int, int],
    cfg: Bandit = DUCB,
    walk: Curriculum = WALK,
) -> tuple[list[Phase], CurriculumState]:
    """All phases of a regime; every source learns a little, by its weight."""
    step, end = borders
    phases = []
    while step < end:
        phase, state = next_phase(state, region, step, end, key, walk, cfg)
        before, after = np.random.default_rng([step, 9]).random((2, region.lower.size))
        _, state = curriculum.end_phase(state, np.array(phase.weights), cfg, before, after)
        phases.append(phase)
        step = phase.end_step
    return phases, state


@pytest.mark.parametrize("cfg", [DUCB, EXP3, FIXED, replace(DUCB, rule="ucb1")])
def test_phases_tile_the_regimes_and_stay_in_their_regions(
    cfg: Bandit, regimes: dict[str, Region]
) -> None:
    state, start = curriculum.init(16), 0
    for index, (name, end) in enumerate([("warmup", 500), ("firehose", 1501), ("polish", 2500)]):
        region = regimes[name]
        state = curriculum.enter_regime(state, region, cfg)
        phases, state = _walk(state, region, (start, end), (0, index), cfg)
        assert [phase.start_step for phase in phases[1:]] == [p.end_step for p in phases[:-1]]
        assert (phases[0].start_step, phases[-1].end_step) == (start, end)
        assert all(7 <= phase.steps <= 42 for phase in phases[:-1])
        for phase in phases:
            weights = np.array(phase.weights)
            assert (weights >= region.lower).all()
            assert (weights <= region.upper).all()
            assert abs(weights.sum() - 1) < 1e-12
        start = end


def test_lengths_are_uniform_and_half_the_phases_random(regimes: dict[str, Region]) -> None:
    region = regimes["warmup"]
    phases, _ = _walk(_enter(region), region, (0, 20_000), (0, 0))
    counts = np.bincount([phase.steps for phase in phases[:-1]], minlength=43)
    assert counts[:7].sum() == 0
    assert chisquare(counts[7:]).pvalue > 0.01
    random = np.mean([phase.kind == "random" for phase in phases])
    assert random == pytest.approx(0.5, abs=3 * 0.5 / len(phases) ** 0.5)


def test_a_bandit_phase_steps_towards_the_best_vertex(golden: Region) -> None:
    walk = replace(WALK, random_share=0.0)
    state = _enter(golden)
    rewards = np.array([0.0, 1.0, 0.5])
    _, state = next_phase(state, golden, 0, 10**6, (0, 0), walk, DUCB)
    _, state = curriculum.end_phase(state, [1, 1, 1], DUCB, rewards, np.zeros(3))
    phase, after = next_phase(state, golden, 50, 10**6, (0, 0), walk, DUCB)
    expected = 0.7 * np.array(state.weights) + 0.3 * best_vertex(rewards, golden)
    assert phase.kind == "bandit"
    assert phase.weights == pytest.approx(tuple(expected), abs=1e-15)
    assert after.weights == phase.weights


def test_fixed_is_one_mixture(regimes: dict[str, Region]) -> None:
    region = regimes["polish"]
    phase, _ = next_phase(_enter(region), region, 0, 99, (0, 2), WALK, FIXED)
    assert phase.kind == "fixed"
    assert phase.weights == pytest.approx(tuple(centre(region)), abs=1e-15)


def test_a_pivot_projects_the_walk_and_keeps_the_statistics(regimes: dict[str, Region]) -> None:
    firehose, polish = regimes["firehose"], regimes["polish"]
    _, state = _walk(_enter(firehose), firehose, (0, 3000), (0, 1))
    moved = curriculum.enter_regime(state, polish, DUCB)
    assert moved.weights == tuple(project(state.weights, polish).tolist())
    assert moved.phases == state.phases
    assert moved.bandit.pulls == pytest.approx(tuple(0.9 * np.array(state.bandit.pulls)))
    assert moved.bandit.waiting == state.bandit.waiting
    assert sum(moved.active) == 14


def test_new_sources_of_a_regime_are_all_explored(regimes: dict[str, Region]) -> None:
    walk = replace(WALK, random_share=0.0)
    _, state = _walk(_enter(regimes["warmup"]), regimes["warmup"], (0, 500), (0, 0), walk=walk)
    assert state.bandit.waiting == (False,) * 7 + (True,) * 9
    state = curriculum.enter_regime(state, regimes["firehose"], DUCB)
    assert state.bandit.waiting == (False,) * 7 + (True,) * 9
    phases, state = _walk(state, regimes["firehose"], (500, 1200), (0, 1), walk=walk)
    assert not any(state.bandit.waiting)
    assert [int(np.argmax(p.weights)) for p in phases[2:9]] == list(range(9, 16))
    assert phases[0].weights[8:] == (0.0,) * 8


def test_randomness_is_keyed_and_not_carried(regimes: dict[str, Region]) -> None:
    region = regimes["firehose"]
    state = _enter(region)
    phases = {}
    for key in ((0, 0), (0, 1), (1, 0)):
        walk = replace(WALK, random_share=1.0)
        phases[key] = next_phase(state, region, 0, 99, key, walk, DUCB)[0]
        assert phases[key] == next_phase(state, region, 0, 99, key, walk, DUCB)[0]
    assert len({phase.weights for phase in phases.values()}) == 3


@pytest.mark.parametrize("cfg", [DUCB, EXP3])
def test_a_resumed_walk_is_the_same_walk(cfg: Bandit, regimes: dict[str, Region]) -> None:
    region = regimes["polish"]
    state = _enter(region, cfg)
    whole, end = _walk(state, region, (0, 900), (3, 2), cfg)
    phase, middle = next_phase(state, region, 0, 900, (3, 2), WALK, cfg)
    middle = curriculum.observe_step(middle, np.full(16, 2.5), np.ones(16))
    phase = stored(phase)
    middle = decode(
        json.loads(json.dumps(encode(middle), allow_nan=False)), CurriculumState, "state"
    )
    before, after = np.random.default_rng([0, 9]).random((2, 16))
    _, middle = curriculum.end_phase(middle, np.array(phase.weights), cfg, before, after)
    rest, again = _walk(middle, region, (phase.end_step, 900), (3, 2), cfg)
    assert [phase, *rest] == whole
    assert again == end


def test_no_phase_after_the_end(golden: Region) -> None:
    with pytest.raises(ValueError, match="ends before step 10"):
        next_phase(_enter(golden), golden, 10, 10, (0, 0), WALK, DUCB)
