"""What the walk costs: `python -m bench.mixer` prints microseconds per training step.

The mixer may take 0.4 % of a step; at 150 ms a step that is 600 microseconds. Work done once a
phase is spread over the mean phase length.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np

from andrea.config.bandit import Bandit
from andrea.config.curriculum import Curriculum
from andrea.mixture import curriculum, sampler
from andrea.mixture.simplex import Region, draw
from andrea.mixture.volume import log10_share

K = 16
PRIORITY, DICTIONARY, EXCLUDED, RAISED = 0, 7, (8, 9), (1, 2, 3, 4, 5, 11, 13, 14)


def default_regions() -> dict[str, Region]:
    """Warmup, firehose and polish: warmup sources first, then the other nine."""
    nothing, everything = np.zeros(K), np.ones(K)
    polish_lower, polish_upper = nothing.copy(), everything.copy()
    polish_lower[PRIORITY], polish_upper[DICTIONARY] = 0.7, 0.25
    polish_lower[list(RAISED)], polish_upper[list(EXCLUDED)] = 0.01, 0.0
    return {
        "warmup": Region(nothing, (np.arange(K) < 7).astype(np.float64)),
        "firehose": Region(nothing, everything),
        "polish": Region(polish_lower, polish_upper),
    }


def microseconds(call: Callable[[int], object], repeats: int) -> float:
    """Best mean of five series."""
    best = float("inf")
    for _ in range(5):
        start = perf_counter()
        for number in range(repeats):
            call(number)
        best = min(best, (perf_counter() - start) / repeats)
    return best * 1e6


def measure(region: Region, rows: int, bandit: Bandit, walk: Curriculum) -> dict[str, float]:
    """Microseconds per step of each part in one region."""
    rng = np.random.default_rng(0)
    mean_length = (walk.shortest_phase + walk.longest_phase) / 2
    losses, fresh, tokens = rng.random(K), np.ones(K, dtype=bool), region.active * 1000.0
    sizes = np.full(K, 1500)
    state = curriculum.enter_regime(curriculum.init(K), region, bandit)
    for number in range(40):
        _, state = curriculum.next_phase(state, region, number, 10**6, (0, 1), walk, bandit)
        _, state = curriculum.end_phase(state, tokens, bandit, rng.random(K), rng.random(K))
    full = state
    for _ in range(int(mean_length)):
        full = curriculum.observe_step(full, losses, fresh)
    weights, drawn = draw(region, rng), sampler.init(K)

    def plan(_number: int) -> None:
        nonlocal drawn
        drawn = sampler.plan(drawn, weights, rows, sizes, 0)[1]

    def phase(number: int) -> object:
        key = (number, 1)
        return curriculum.next_phase(state, region, 0, 10**6, key, walk, bandit)

    return {
        "plan": microseconds(plan, 500),
        "observe_step": microseconds(lambda _: curriculum.observe_step(full, losses, fresh), 500),
        "next_phase": microseconds(phase, 200) / mean_length,
        "end_phase": microseconds(
            lambda _: curriculum.end_phase(full, tokens, bandit, losses, losses[::-1]), 50
        )
        / mean_length,
    }


def main() -> None:
    """Print one table, and the times in the hard region."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=16, help="sequences in a step")
    parser.add_argument("--step-ms", type=float, default=150.0, help="a training step")
    parser.add_argument("--reward", default="probe", choices=["probe", "slope", "ema"])
    arguments = parser.parse_args()
    bandit = Bandit("ducb", arguments.reward, 0.93, 0.3, probe_rows=8)
    walk = Curriculum(7, 42, 0.5, 0.3, max_epochs=100.0, allow_repeats=False)
    print(f"microseconds per step, {arguments.rows} rows, reward {arguments.reward}")
    for name, region in default_regions().items():
        parts = measure(region, arguments.rows, bandit, walk)
        total = sum(parts.values())
        listed = "  ".join(f"{part} {value:.1f}" for part, value in parts.items())
        share = total / (arguments.step_ms * 1000)
        print(f"{name:9s} {listed}  total {total:.1f} = {share:.4%} of {arguments.step_ms} ms")
    hard = Region(np.zeros(K), np.array([0.04] * 12 + [0.4] * 4))
    drawing = microseconds(lambda number: draw(hard, np.random.default_rng(number)), 200)
    sharing = microseconds(lambda _: log10_share(hard), 20)
    print(
        f"hard region: draw {drawing:.0f}, share {sharing:.0f} (10 ** {log10_share(hard)[0]:.3f})"
    )


if __name__ == "__main__":
    main()
