from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from andrea.geometry.heads.measure.attention import capture
from andrea.geometry.heads.measure.heads import (
    PerHead,
    followers,
    measure,
    repeated_tokens,
    statistics,
)
from andrea.model.gpt import GPT, initialise
from tests.networks import SCALE, network

FEATURES = SCALE.d_model // SCALE.n_heads
NAMES = [field.name for field in fields(PerHead)]
BOS = 256


def text(rows: int, length: int = SCALE.context, ids: int = 12) -> np.ndarray:
    return np.random.default_rng(1).integers(ids, size=(rows, length))


def slow(scores: np.ndarray, features: int, tokens: np.ndarray) -> dict[str, float]:
    """The definitions, for one head, one position after the other."""
    found: dict[str, list[float]] = {name: [] for name in NAMES}
    for i in range(1, len(tokens)):
        visible = scores[i, : i + 1].astype(np.float64)
        for start, exponents in (("", visible / math.sqrt(features)), ("unscaled_", visible)):
            powers = np.exp(exponents - exponents.max())
            weights = powers / powers.sum()
            some = weights[weights > 0]
            share = -(some * np.log(some)).sum() / math.log(i + 1)
            found[start + "entropy_share"].append(share)
            found[start + "largest_weight"].append(weights.max())
            if start:
                continue
            found["distance_tokens"].append(sum(w * (i - j) for j, w in enumerate(weights)))
            found["first_token_weight"].append(weights[0])
            found["previous_token_weight"].append(weights[i - 1])
            targets = [j for j in range(1, i) if tokens[j - 1] == tokens[i]]
            if targets:
                found["induction_weight"].append(sum(weights[j] for j in targets))
        found["score_spread"].append(visible.var(ddof=1))
    means = {name: float(np.mean(values)) for name, values in found.items() if values}
    return means | {"score_spread": math.sqrt(means["score_spread"])}


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32), length=st.integers(2, 20), ids=st.integers(1, 8),
    size=st.sampled_from([0.1, 3.0, 40.0]), features=st.sampled_from([1, 4, 32]),
)  # fmt: skip
def test_every_figure_is_what_it_says(
    seed: int, length: int, ids: int, size: float, features: int
) -> None:
    rng = np.random.default_rng(seed)
    tokens = rng.integers(ids, size=length)
    scores = (size * rng.standard_normal((2, length, length))).astype(np.float32)
    found = measure(torch.from_numpy(scores), features, tokens)
    for head in range(2):
        expected = slow(scores[head], features, tokens)
        for name in NAMES:
            value = getattr(found, name)[head]
            if name in expected:
                assert value == pytest.approx(expected[name], rel=1e-4, abs=1e-5), name
            else:
                assert name == "induction_weight"
                assert math.isnan(value)
    assert (found.unscaled_entropy_share <= found.entropy_share + 1e-5).all()
    assert (found.unscaled_largest_weight >= found.largest_weight - 1e-5).all()


def test_a_head_that_finds_what_followed_has_induction_weight_1() -> None:
    """And one that finds the copy itself has none: a head of equal tokens is another thing."""
    tokens = repeated_tokens(np.arange(60)[None], BOS, 1, 8, 3, (7,))[0]
    follows = torch.from_numpy(followers(tokens))
    copies = torch.from_numpy(np.tril(tokens[:, None] == tokens, -1))
    found = measure(100 * torch.stack([follows, copies]).float(), 1, tokens)
    np.testing.assert_allclose(found.induction_weight, [1, 0], atol=1e-6)
    assert follows[1 + 8 :].sum(1).tolist() == [1] * 8 + [2] * 8
    assert not follows[: 1 + 8].any()


@pytest.mark.parametrize("back", [1, 3])
def test_a_head_turned_to_look_back_looks_back(back: int) -> None:
    """Every place is a direction of its own, and a query stands on the key `back` before it."""
    model = GPT(replace(SCALE, n_heads=1, n_layers=1))
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
        model.position.copy_(torch.eye(*model.position.shape))
        qkv = model.blocks[0].qkv.view(3, SCALE.d_model, SCALE.d_model)
        qkv[0] = torch.eye(SCALE.d_model).roll(-back, 0)
        qkv[1] = 10 * torch.eye(SCALE.d_model)
    mean = statistics(model, text(2)).mean
    n = SCALE.context
    with_target, halves = n - back, [i / 2 for i in range(1, back)]
    assert mean.previous_token_weight.item() == pytest.approx(
        1 if back == 1 else (1 / 2 + 1 / 3) / (n - 1), abs=1e-4
    )
    distance = (back * with_target + sum(halves)) / (n - 1)
    assert mean.distance_tokens.item() == pytest.approx(distance, rel=1e-4)


def test_scores_of_a_new_network_spread_as_vaswani_says() -> None:
    """Features of variance 1: that of q . k is k, and the division makes it 1."""
    model = GPT(replace(SCALE, d_model=256, context=48))
    initialise(model, seed=3)
    found = statistics(model, text(4, 48, ids=SCALE.vocabulary))
    assert found.features == 64
    np.testing.assert_allclose(found.mean.score_spread, math.sqrt(64), rtol=0.15)
    assert (found.mean.entropy_share > 0.8).all()
    assert (found.mean.unscaled_entropy_share < 0.3).all()


def test_statistics_are_means_over_captured_sequences() -> None:
    model, tokens = network(), text(5)
    found = statistics(model, tokens)
    assert found.features == FEATURES
    each = [
        [measure(torch.from_numpy(scores), FEATURES, row) for scores in capture(model, row).scores]
        for row in tokens
    ]
    for name in NAMES:
        values = np.array([[getattr(layer, name) for layer in layers] for layers in each])
        assert values.shape == (5, SCALE.n_layers, SCALE.n_heads)
        error = values.std(0, ddof=1) / math.sqrt(5)
        np.testing.assert_allclose(getattr(found.mean, name), values.mean(0), rtol=1e-6)
        np.testing.assert_allclose(getattr(found.standard_error, name), error, rtol=1e-4)


def test_the_uniform_head_is_known_by_heart() -> None:
    uniform = statistics(network(), text(2)).uniform
    n = SCALE.context
    share = sum(1 / (i + 1) for i in range(1, n)) / (n - 1)
    assert uniform.entropy_share.item() == pytest.approx(1)
    assert uniform.distance_tokens.item() == pytest.approx(n / 4)
    for name in ("first_token_weight", "previous_token_weight", "largest_weight"):
        assert getattr(uniform, name).item() == pytest.approx(share)
    assert uniform.unscaled_entropy_share.item() == pytest.approx(1)
    assert uniform.score_spread.item() == 0


def test_sequences_without_a_repeat_have_no_say_on_induction() -> None:
    model, tokens = network(), text(4)
    tokens[0] = np.arange(SCALE.context)
    found, without = statistics(model, tokens), statistics(model, tokens[1:])
    for part in ("mean", "standard_error", "uniform"):
        one, other = getattr(found, part), getattr(without, part)
        np.testing.assert_allclose(one.induction_weight, other.induction_weight, rtol=1e-12)
    assert (found.mean.entropy_share != without.mean.entropy_share).all()
    with pytest.raises(ValueError, match="fewer than two sequences"):
        statistics(model, tokens[:2])


@pytest.mark.parametrize("shape", [(1, 8), (2, 1), (2, SCALE.context + 1)])
def test_too_few_sequences_or_too_long_ones_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=f"{shape[0]} sequences of {shape[1]} tokens"):
        statistics(network(), np.zeros(shape, dtype=np.int64))


def test_nothing_is_left_behind() -> None:
    model, tokens = network(), text(3)
    before = [weights.detach().clone() for weights in model.parameters()]
    state = torch.random.get_rng_state()
    found = statistics(model, tokens)
    with torch.autocast("cpu", torch.bfloat16):
        again = statistics(model, tokens)
    assert torch.is_grad_enabled()
    assert torch.equal(torch.random.get_rng_state(), state)
    for weights, old in zip(model.parameters(), before, strict=True):
        assert torch.equal(weights, old)
    for name in NAMES:
        assert getattr(found.mean, name).tobytes() == getattr(again.mean, name).tobytes()


def test_repeated_tokens_repeat_and_nothing_else() -> None:
    ids = np.repeat(np.arange(300), np.arange(1, 301))  # id n stands n + 1 times
    found = repeated_tokens(ids, 150, 6, 25, 4, (7, 1))
    assert found.shape == (6, 101)
    assert (found[:, 0] == 150).all()
    copies = found[:, 1:].reshape(6, 4, 25)
    assert (copies == copies[:, :1]).all()
    for row in copies[:, 0]:
        assert len(set(row.tolist()) - {150}) == 25
        assert row.min() >= 14
        assert row.max() <= 285
    assert len({tuple(row) for row in found.tolist()}) == 6


def test_repeated_tokens_depend_on_key_and_row_alone() -> None:
    ids = np.arange(200)
    few, many = (repeated_tokens(ids, BOS, rows, 10, 2, (7, 1)) for rows in (2, 5))
    np.testing.assert_array_equal(few, many[:2])
    assert (repeated_tokens(ids, BOS, 2, 10, 2, (7, 2)) != few).any()


def test_a_text_of_too_few_ids_is_refused() -> None:
    with pytest.raises(ValueError, match="11 different tokens to repeat, the text has 10"):
        repeated_tokens(np.arange(10), BOS, 2, 11, 2, (7,))
