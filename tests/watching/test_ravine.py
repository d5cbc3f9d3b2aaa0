"""A planted ravine: a real run on a source of which a twentieth is one repeated document."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from andrea.config.training import Bandit, Curriculum, Scale
from andrea.mixture.simplex import Region
from andrea.training import probe, state
from andrea.training.batches import Stream
from andrea.training.loop import run_regime
from andrea.training.run import Run
from andrea.training.state import TrainState
from andrea.watching import cliff, repeats, robust
from tests.runs import made_run

BOS, T, STEPS = 256, 32, 300
SEQUENCES = 1200
DOCUMENT: Stream = np.array([BOS, *np.random.default_rng(0).integers(0, 64, T - 1)], np.uint16)


def documents(rng: np.random.Generator, tokens: int) -> list[Stream]:
    """Noisy arithmetic series: half of the tokens can be learnt, half cannot."""
    made: list[Stream] = []
    while sum(map(len, made)) < tokens:
        length = int(rng.integers(20, 200))
        series = np.cumsum(rng.integers(0, 2, length) + 3 * rng.integers(0, 2)) % 64
        noisy = rng.random(length) < 0.5
        series[noisy] = rng.integers(0, 64, noisy.sum())
        made.append(np.concatenate([[BOS], series]).astype(np.uint16))
    return made


def stream(seed: int, document: Stream | None) -> Stream:
    """1,200 sequences, of which a twentieth are the document."""
    rng = np.random.default_rng(seed)
    tokens = np.concatenate(documents(rng, SEQUENCES * T + 1))[: SEQUENCES * T + 1]
    if document is not None:
        sequences = tokens[:-1].reshape(SEQUENCES, T)
        sequences[rng.permutation(SEQUENCES)[: SEQUENCES // 20]] = document
    return tokens


def planted_run(seed: int, document: Stream | None) -> Run:
    """One source, which holds the document where there is one."""
    scale = Scale(
        segments=10, d_model=32, n_heads=2, n_layers=1, context=T, micro_batch=32,
        grad_accumulation=1, steps=STEPS, bigram_init=0, lr=0.04, log_every=5,
    )  # fmt: skip
    return made_run(
        seed=seed,
        scale=scale,
        bandit=Bandit(rule="fixed", reward="slope", discount=0.9, exploration=0.5, probe_rows=20),
        curriculum=Curriculum(shortest_phase=20, longest_phase=40, random_share=0.5, eta=0.3),
        sources=("only",),
        train=[stream(1, document)],
        probe=[stream(2, None)[: 20 * T + 1]],
        byte_lengths=np.ones(267, dtype=np.int64),
        region=Region(np.zeros(1), np.ones(1)),
        end_step=STEPS,
    )


def watched(run: Run) -> Iterator[tuple[list[tuple[int, bool]], list[int]]]:
    """Watch a run; for each step the planted rows, and which rows of the batch are cliffs.

    Of a planted row, whether its loss lies below half of its source's median.
    """
    training = state.new(run.scale, run.optimizer, 1, run.seed, "cpu")
    memory = cliff.init(1)
    for stats in run_regime(training, run):
        rows = [run.train[0][place * T :][: T + 1] for place in stats.plan.position.tolist()]
        limit = 0.5 * (robust.median(memory.losses[0]) or 0)
        planted = [
            (row, loss < limit)
            for row, loss in enumerate(stats.row_nats.tolist())
            if np.array_equal(rows[row][:T], DOCUMENT)
        ]
        memory, drops, _ = cliff.observe(
            memory, stats.plan.source, stats.row_nats, stats.grad_norm, 0.5
        )
        cliffs = []
        for drop in drops:
            copies = repeats.find(rows[drop.row], run.train[0], BOS)
            if cliff.confirmed(drop, copies, lambda: held_out(training, run)):
                cliffs.append(drop.row)
            else:
                memory = cliff.accept(memory, drop)
        yield planted, cliffs


def held_out(training: TrainState, run: Run) -> float:
    """Loss per token on the probe."""
    return float(probe.read(training.model, run, np.ones(1, dtype=np.bool_)).nats[0])


def test_a_planted_ravine_is_found_by_the_second_cheap_sequence() -> None:
    cheap = 0
    for planted, cliffs in watched(planted_run(5, DOCUMENT)):
        rows = [row for row, _ in planted]
        assert set(cliffs) <= set(rows)
        cheap += sum(low for _, low in planted)
        if cliffs:
            break
    assert cliffs
    assert 1 <= cheap <= 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_without_a_ravine_there_is_no_alarm(seed: int) -> None:
    assert not [cliffs for _, cliffs in watched(planted_run(seed, None)) if cliffs]
