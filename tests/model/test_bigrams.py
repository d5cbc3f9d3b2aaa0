from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from andrea.model import bigrams
from andrea.model.gpt import GPT, initialise

from .conftest import SCALE

VOCABULARY = SCALE.vocabulary


@pytest.fixture
def new() -> GPT:
    model = GPT(SCALE)
    initialise(model, 3)
    return model


def test_every_stream_weighs_the_same() -> None:
    short, long = np.array([1, 2, 1], np.uint16), np.array([5, 6] * 500, np.uint16)
    found = bigrams.frequencies([short, long, short[:1]], VOCABULARY)
    assert found.sum().item() == pytest.approx(1)
    assert found[1, 2].item() == found[2, 1].item() == pytest.approx(0.25)
    assert (found[5, 6] + found[6, 5]).item() == pytest.approx(0.5)
    assert int((found > 0).sum()) == 4


def test_the_network_then_predicts_what_follows(new: GPT) -> None:
    rng = np.random.default_rng(0)
    following = rng.dirichlet(np.full(5, 0.5), size=20)
    stream = [0]
    for uniform in rng.random(20_000):
        row = following[stream[-1] % 20]
        stream.append(int(np.searchsorted(row.cumsum(), uniform)) * 4 + stream[-1] % 4)
    tokens = np.array(stream, np.uint16) % 20
    pairs = bigrams.frequencies([tokens], VOCABULARY)
    wanted = pairs.double()
    entropy = stats.entropy(wanted.flatten()) - stats.entropy(wanted.sum(1))
    losses = bigrams.fit(new, pairs, 200)
    assert losses[0] == pytest.approx(np.log(VOCABULARY), rel=1e-5)
    assert entropy < losses[-1] < entropy + 0.02
    batch = torch.from_numpy(tokens[:320].astype(np.int64)).view(20, 16)
    assert new.nats(batch[:, :-1], batch[:, 1:]).mean().item() == pytest.approx(entropy, abs=0.2)


def test_only_the_two_tables_move_and_always_alike(new: GPT) -> None:
    stream = np.random.default_rng(0).integers(0, VOCABULARY, 1000).astype(np.uint16)
    pairs = bigrams.frequencies([stream], VOCABULARY)
    again = GPT(SCALE)
    initialise(again, 3)
    before = {name: weights.clone() for name, weights in new.named_parameters()}
    for model in (new, again):
        bigrams.fit(model, pairs, 5)
    for (name, weights), twin in zip(new.named_parameters(), again.parameters(), strict=True):
        assert torch.equal(weights, twin)
        assert torch.equal(weights, before[name]) == (name not in ("token", "head.weight"))
