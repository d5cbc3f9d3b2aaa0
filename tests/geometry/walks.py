"""Made-up walks that the tests of the geometry share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from andrea.geometry.walk.measure.phases import Phases, Walk, join
from andrea.mixture.simplex import Region, best_vertex, draw, settled


@st.composite
def regions(draw_: st.DrawFn, fewest: int = 1, most: int = 7) -> Region:
    """Bounds around a point of the simplex; some sources pinned, some excluded."""
    k = draw_(st.integers(fewest, most))
    share = st.floats(0, 1) | st.sampled_from([0.0, 0.3, 1.0])
    inside = np.array(draw_(st.lists(st.floats(0, 1), min_size=k, max_size=k)))
    inside = (inside + 1e-3) / (inside + 1e-3).sum()
    down = np.array(draw_(st.lists(share, min_size=k, max_size=k)))
    up = np.array(draw_(st.lists(share, min_size=k, max_size=k)))
    return Region(inside * (1 - down), np.minimum(1, inside + (1 - inside) * up))


def make_phases(region: Region, start: int, count: int, seed: int) -> Phases:
    """Phases of 7 to 42 steps of four rows: every other one random, the rest steps to a vertex."""
    rng = np.random.default_rng(seed)
    k = region.lower.size
    steps = rng.integers(7, 43, count)
    kinds = np.array(["random", "bandit"] * count)[:count]
    scores = rng.normal(size=(count, k))
    weights = np.zeros((count, k))
    for phase in range(count):
        weights[phase] = draw(region, rng)
        if kinds[phase] == "bandit":
            towards = best_vertex(scores[phase], region)
            weights[phase] = settled(0.7 * weights[phase - 1] + 0.3 * towards, region)
    sequences = np.array(
        [rng.multinomial(4 * n, w / w.sum()) for n, w in zip(steps, weights, strict=True)]
    ).reshape(count, k)
    rewards = np.where(sequences > 0, rng.uniform(-1, 1, (count, k)), 0.0)
    return Phases(
        tuple(f"source-{n}" for n in range(k)),
        start + np.concatenate([[0], steps[:-1].cumsum()]).astype(np.int64)[:count],
        steps.astype(np.int64),
        kinds,
        weights,
        scores,
        rewards,
        np.full((count, k), np.nan),
        sequences,
    )


def make_walk(by_regime: dict[str, Region], seed: int, count: int = 9) -> Walk:
    """A walk of `count` phases a regime."""
    parts: dict[str, Phases] = {}
    start = 0
    for index, (name, region) in enumerate(by_regime.items()):
        parts[name] = make_phases(region, start, count, seed + index)
        start = int(parts[name].start_step[-1] + parts[name].steps[-1])
    return join(parts, by_regime)


def golden_region() -> Region:
    """hermes3-general at least one half, gutenberg free, dictionary at most a quarter."""
    return Region(np.array([0.5, 0, 0]), np.array([1, 1, 0.25]))
