"""A planted ravine: a real run on a source of which a twentieth is one repeated document."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from andrea.config.training import Bandit, Compute, Curriculum, Optimizer, Scale
from andrea.mixture.simplex import Region
from andrea.training import machine, probe, state
from andrea.training.batches import Stream
from andrea.training.loop import Data, Regime, Settings, run_regime
from andrea.training.state import TrainState
from andrea.watching import cliff, repeats
from andrea.watching.repeats import Stream as Tokens

BOS, T, STEPS = 256, 32, 300
SEQUENCES = 1200
DOCUMENT: Tokens = np.array([BOS, *np.random.default_rng(0).integers(0, 64, T - 1)], np.uint16)


def documents(rng: np.random.Generator, tokens: int) -> list[Tokens]:
    """Noisy arithmetic series: half of the tokens can be learnt, half cannot."""
    made: list[Tokens] = []
    while sum(map(len, made)) < tokens:
        length = int(rng.integers(20, 200))
        series = np.cumsum(rng.integers(0, 2, length) + 3 * rng.integers(0, 2)) % 64
        noisy = rng.random(length) < 0.5
        series[noisy] = rng.integers(0, 64, noisy.sum())
        made.append(np.concatenate([[BOS], series]).astype(np.uint16))
    return made


def stream(seed: int, document: Tokens | None) -> Stream:
    """1,200 sequences, of which a twentieth are the document."""
    rng = np.random.default_rng(seed)
    tokens = np.concatenate(documents(rng, SEQUENCES * T + 1))[: SEQUENCES * T + 1]
    if document is not None:
        sequences = tokens[:-1].reshape(SEQUENCES, T)
        sequences[rng.permutation(SEQUENCES)[: SEQUENCES // 20]] = document
    return tokens


def settings(seed: int) -> Settings:
    return Settings(
        seed=seed,
        scale=Scale(
            segments=10, d_model=32, n_heads=2, n_layers=1, context=T, micro_batch=32, grad_accumulation=1,
            steps=STEPS, bigram_init=0, lr=0.04, log_every=5,
        ),
        optimizer=Optimizer(
            beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.1, grad_clip=1.0, lr_warmup=0.1,
            final_lr=0.1,
        ),
        bandit=Bandit(rule="fixed", reward="slope", discount=0.9, exploration=0.5, probe_rows=2),
        curriculum=Curriculum(
            shortest_phase=20, longest_phase=40, random_share=0.5, eta=0.3, max_epochs=1000,
            allow_repeats=False,
        ),
        machine=machine.prepare(Compute("cpu", "fp32", False, 1)),
    )  # fmt: skip


def run(data: Data, cfg: Settings) -> Iterator[tuple[list[tuple[int, bool]], list[int]]]:
    """Watch a run; for each step the planted rows, and which rows of the batch are cliffs.

    Of a planted row, whether its loss lies below half of its source's median.
    """
    training = state.new(cfg.scale, cfg.optimizer, 1, cfg.seed, "cpu")
    everything = Regime(0, Region(np.zeros(1), np.ones(1)), STEPS)
    watched = cliff.init(1)
    for stats in run_regime(training, everything, data, cfg):
        rows = [data.train[0][place * T :][: T + 1] for place in stats.plan.position.tolist()]
        limit = 0.5 * (watched.losses[0].median() or 0)
        planted = [
            (row, loss < limit)
            for row, loss in enumerate(stats.row_nats.tolist())
            if np.array_equal(rows[row][:T], DOCUMENT)
        ]
        watched, drops, _ = cliff.observe(
            watched, stats.plan.source, stats.row_nats, stats.gradient_norm, 0.5
        )
        cliffs = []
        for drop in drops:
            found = repeats.find(rows[drop.row], data.train[0], BOS)
            if cliff.confirmed(drop, found, lambda: held_out(training, data, cfg)):
                cliffs.append(drop.row)
            else:
                watched = cliff.accept(watched, drop)
        yield planted, cliffs


def held_out(training: TrainState, data: Data, cfg: Settings) -> float:
    """Loss per token on the probe."""
    active, rows = np.ones(1, dtype=np.bool_), cfg.scale.micro_batch
    reading = probe.read(
        training.model, data.probe, active, 20, rows, data.byte_lengths, cfg.machine
    )
    return float(reading.nats[0])


def data_with(document: Tokens | None) -> Data:
    lengths = np.ones(267, dtype=np.int64)
    return Data([stream(1, document)], [stream(2, None)[: 20 * T + 1]], lengths)


def test_a_planted_ravine_is_found_by_the_second_cheap_sequence() -> None:
    cheap = 0
    for planted, cliffs in run(data_with(DOCUMENT), settings(5)):
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
    assert not [cliffs for _, cliffs in run(data_with(None), settings(seed)) if cliffs]
