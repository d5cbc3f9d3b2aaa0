from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from andrea.config.training import Compute, Scale
from andrea.evaluation.bits_per_byte import bits_per_byte, score, windows
from andrea.evaluation.summary import over_sources, shares
from andrea.model.gpt import GPT, initialise
from andrea.training import machine

SCALE = Scale(40, 16, 2, 1, 8, 4, 1, 10, 0, 0.01, 5)


def test_one_bit_for_each_byte() -> None:
    assert bits_per_byte(100 * math.log(2), 100) == pytest.approx(1.0)


@pytest.mark.parametrize("length", [2, 8, 9, 10, 17, 30])
def test_every_token_but_the_first_is_predicted_once(length: int) -> None:
    tokens = np.arange(length).astype(np.uint16)
    inputs, targets = windows(tokens, 8)
    real = targets[targets != 256]
    assert real.tolist() == list(range(1, length))
    assert inputs.shape == targets.shape
    assert np.array_equal(inputs.ravel()[1:], targets.ravel()[:-1])


def test_a_model_that_knows_nothing_scores_the_logarithm_of_the_vocabulary() -> None:
    model = GPT(SCALE)
    initialise(model, 1)
    tokens = np.array([256, *range(20), 256, *range(10)], np.uint16)
    lengths = np.ones(SCALE.vocabulary, np.int64)
    lengths[256] = 0
    on = machine.prepare(Compute("cpu", "fp32", False, 1))
    found = score(model, tokens, lengths, 2, on)
    assert found == pytest.approx(math.log2(SCALE.vocabulary), rel=1e-5)


def test_the_score_is_the_sum_over_windows() -> None:
    model = GPT(SCALE)
    initialise(model, 1)
    with torch.no_grad():
        model.head.weight.normal_(0, 1, generator=torch.Generator().manual_seed(1))
    tokens = np.array([256, *range(20), 256, *range(10)], np.uint16)
    lengths = np.full(SCALE.vocabulary, 2, np.int64)
    lengths[256] = 0
    on = machine.prepare(Compute("cpu", "fp32", False, 1))
    nats = 0.0
    for first in range(0, len(tokens) - 1, 8):
        piece = torch.from_numpy(tokens[first : first + 9].astype(np.int64))[None]
        losses = model.nats(piece[:, :-1], piece[:, 1:])
        nats += float(losses[piece[:, 1:] != 256].double().sum())
    expected = nats / math.log(2) / (2 * 30)
    assert score(model, tokens, lengths, 3, on) == pytest.approx(expected, rel=1e-6)


def test_out_of_domain_is_neither_in_the_mean_nor_the_worst() -> None:
    found = over_sources({"a": 1.0, "b": 2.0, "ood": 9.0}, ["a", "b"])
    assert found["macro_mean"] == 1.5
    assert (found["worst"], found["worst_source"]) == (2.0, "b")
    assert found["out_of_domain"] == 9.0


def test_shares_weigh_regimes_by_their_steps() -> None:
    regimes = {
        "warmup": {"steps": 10, "planned_share": {"a": 1.0, "b": 0.0},
                   "realised_share": {"a": 1.0, "b": 0.0}},
        "firehose": {"steps": 10},
        "polish": {"steps": 40, "planned_share": {"a": 0.5, "b": 0.5},
                   "realised_share": {"a": 0.4, "b": 0.6}},
    }  # fmt: skip
    found = shares(regimes, {"a": 3.0, "b": 1.0}, ["a", "b"])
    assert found["planned_share"]["a"] == pytest.approx(0.25 + 0.75 * 0.5)
    assert found["realised_share"]["b"] == pytest.approx(0.75 * 0.6)
    assert found["tokenizer_distance"] == pytest.approx(0.75 - (0.25 + 0.75 * 0.4))
