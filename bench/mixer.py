"""What the walk costs: `python -m bench.mixer` prints microseconds per training step.

Every regime of `params.yaml` is walked as training walks it, at the active scale and with made-up
losses in the network's place. The mixer may take 0.4 % of a step.

    python -m bench.mixer [--scale laptop] [--steps 2000] [--step-ms 150]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from andrea.common import paths
from andrea.config import tree
from andrea.config.training import REGIMES
from andrea.config.tree import Config
from andrea.mixture import bandit, curriculum, sampler
from andrea.mixture.simplex import Region, draw
from andrea.mixture.volume import centre, log10_share
from andrea.planning.estimate import read_lengths

T = TypeVar("T")
WALKS = 5  # the fastest counts


class Clock:
    """Seconds spent by the name of what is called."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, call: Callable[..., T], *arguments: Any) -> T:
        """Call, and count the time."""
        start = perf_counter()
        result = call(*arguments)
        self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start
        return result


def walk(config: Config, name: str, sizes: dict[str, int], steps: int) -> dict[str, float]:
    """Microseconds per step of each part of the mixer in one walk through the regime `name`.

    Args:
        sizes: sequences of each source.
    """
    scale, seed, k = config.scale, config.seed, len(sizes)
    knobs, pace, bounds = config.bandit, config.curriculum, config.bounds(name)
    region = Region(np.array(bounds.lower), np.array(bounds.upper))
    key = (seed, REGIMES.index(name))
    rows, counts = scale.micro_batch * scale.grad_accumulation, np.array(list(sizes.values()))
    rng, time = np.random.default_rng(0), Clock()
    state, drawn = curriculum.enter_regime(curriculum.init(k), region, knobs), sampler.init(k)
    probe = rng.random(k) if knobs.reward == "probe" else None
    step = 0
    while step < steps:
        time("scores", bandit.scores, state.bandit, knobs)
        phase, state = time(
            "next_phase", curriculum.next_phase, state, region, step, steps, key, pace, knobs
        )
        sequences = np.zeros(k)
        for _ in range(phase.steps):
            plan, drawn = time("plan", sampler.plan, drawn, phase.weights, rows, counts, seed)
            here = np.bincount(plan.source, minlength=k)
            losses = np.where(here > 0, rng.random(k), np.nan)
            fresh = np.bincount(plan.source, plan.epoch > 0, k) == 0
            state = time("observe_step", curriculum.observe_step, state, losses, fresh)
            sequences += here
        step = phase.end_step
        after = None if probe is None else rng.random(k)
        tokens = sequences * scale.context
        _, state = time("end_phase", curriculum.end_phase, state, tokens, knobs, probe, after)
        probe = after
    return {part: seconds / steps * 1e6 for part, seconds in time.seconds.items()}


def milliseconds(call: Callable[[], object]) -> float:
    """Best of a few calls."""
    clocks = [Clock() for _ in range(WALKS)]
    for clock in clocks:
        clock("it", call)
    return 1e3 * min(clock.seconds["it"] for clock in clocks)


def main() -> None:
    """Print one table, and the times in a region that is hard to draw from."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", help="the one in params.yaml")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--step-ms", type=float, default=150.0, help="a training step")
    given = parser.parse_args()
    config = tree.load(paths.PARAMS, [f"scale={given.scale}"] if given.scale else [])
    scale = config.scale
    sizes = {s: max(1, n.tokens // scale.context) for s, n in read_lengths(config).items()}
    rows = scale.micro_batch * scale.grad_accumulation
    print(f"microseconds per step, {config.scale_name}, {rows} rows")
    for name in REGIMES:
        walks = [walk(config, name, sizes, given.steps) for _ in range(WALKS)]
        best = min(walks, key=lambda parts: sum(parts.values()))
        listed = "  ".join(f"{part} {value:.1f}" for part, value in best.items())
        total = sum(best.values())
        share = total / (given.step_ms * 1000)
        print(f"{name:9s} {listed}  total {total:.1f} = {share:.4%} of {given.step_ms} ms")
    hard = Region(np.zeros(16), np.random.default_rng(0).uniform(0.07, 0.2, 16))
    print(
        f"16 different caps: draw {milliseconds(lambda: draw(hard, np.random.default_rng(0))):.2f}"
        f" ms, share {milliseconds(lambda: log10_share(hard)):.0f} ms,"
        f" centre {milliseconds(lambda: centre(hard)):.0f} ms"
    )


if __name__ == "__main__":
    main()
