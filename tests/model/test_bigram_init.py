from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from andrea.model import bigram_init
from andrea.model.gpt import GPT, initialise, norm

from .conftest import SCALE

VOCABULARY = SCALE.vocabulary
NOISE = np.random.default_rng(0).integers(0, VOCABULARY, 1000).astype(np.uint16)


def new(**changes: int) -> GPT:
    model = GPT(replace(SCALE, **changes))
    initialise(model, 3)
    return model


def test_every_stream_weighs_the_same() -> None:
    short, long = np.array([1, 2, 1], np.uint16), np.array([5, 6] * 500, np.uint16)
    found = bigram_init.pair_frequencies([short, long, short[:1]], VOCABULARY)
    assert found.sum().item() == pytest.approx(1)
    assert found[1, 2].item() == found[2, 1].item() == pytest.approx(0.25)
    assert (found[5, 6] + found[6, 5]).item() == pytest.approx(0.5)
    assert int((found > 0).sum()) == 4


def test_the_network_then_predicts_what_follows() -> None:
    rng = np.random.default_rng(0)
    tokens = [0]
    for uniform in rng.random(20_000):
        tokens.append((3 * tokens[-1] + int(4 * uniform**2)) % 20)
    stream = np.array(tokens, np.uint16)
    wanted = bigram_init.pair_frequencies([stream], VOCABULARY).double()
    entropy = stats.entropy(wanted.flatten()) - stats.entropy(wanted.sum(1))
    model = new()
    losses = bigram_init.apply(model, [stream], 200)
    assert losses[0] == pytest.approx(math.log(VOCABULARY), rel=1e-5)
    assert entropy < losses[-1] < entropy + 0.02
    batch = torch.from_numpy(stream[:3200].astype(np.int64)).view(200, 16)
    mean = model.nats(batch[:, :-1], batch[:, 1:]).mean().item()
    assert mean == pytest.approx(entropy, abs=0.05)


@pytest.mark.parametrize("shape", [{}, {"d_model": 128, "context": 256}, {"n_heads": 2}])
def test_heads_look_back_a_fixed_number_of_tokens(shape: dict[str, int]) -> None:
    model = new(**shape)
    bigram_init.apply(model, [NOISE], 100)
    block = model.blocks[0]
    tokens = torch.from_numpy(NOISE[: model.context].astype(np.int64))
    x_Td = norm(model.token[tokens] + model.position)
    q_HTk, k_HTk, _ = (x_Td @ block.qkv.T).view(len(x_Td), 3, block.heads, -1).permute(1, 2, 0, 3)
    scores = q_HTk @ k_HTk.mT / math.sqrt(q_HTk.shape[-1])
    later = torch.ones(scores.shape[1:], dtype=torch.bool).triu(1)
    weights = scores.masked_fill(later, -math.inf).softmax(-1)
    for head in range(block.heads - 1):
        assert weights[head].diagonal(-(head + 1)).mean() > 0.9
    assert weights[-1].diagonal(-block.heads).mean() < 0.5


def test_it_is_always_the_same_and_leaves_the_rest_alone() -> None:
    first, again, untouched = new(), new(), new()
    for model in (first, again):
        bigram_init.apply(model, [NOISE], 5)
    before = dict(untouched.named_parameters())
    changed = set()
    for (name, weights), twin in zip(first.named_parameters(), again.parameters(), strict=True):
        assert torch.equal(weights, twin)
        if not torch.equal(weights, before[name]):
            changed.add(name)
    assert changed == {"token", "position", "head.weight", "blocks.0.qkv"}
    values = slice(2 * SCALE.d_model, None)
    assert torch.equal(first.blocks[0].qkv[values], untouched.blocks[0].qkv[values])
