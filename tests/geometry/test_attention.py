from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from andrea.common.errors import UserError
from andrea.geometry.heads.measure.attention import (
    Capture,
    at_position,
    capture,
    causal_softmax,
    steps,
)
from andrea.model.gpt import GPT, norm
from tests.networks import SCALE, network

GOLDEN = json.loads((Path(__file__).parents[1] / "golden.json").read_text(encoding="utf-8"))


def prompt(length: int = SCALE.context, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(SCALE.vocabulary, size=length)


@pytest.fixture(scope="module")
def model() -> GPT:
    return network()


@pytest.fixture(scope="module")
def captured(model: GPT) -> Capture:
    return capture(model, prompt())


def test_golden_projection() -> None:
    golden = GOLDEN["attention_projection"]
    keys = torch.tensor(golden["keys"], dtype=torch.float64)
    queries = torch.tensor(golden["q"], dtype=torch.float64).expand(3, golden["d_k"])
    scores, scaled, weights = steps(queries, keys)
    assert scores[2].tolist() == golden["scores"]
    assert scaled[2].tolist() == golden["scaled"]
    np.testing.assert_allclose(weights[2].numpy(), golden["weights"], rtol=1e-12)
    assert weights[0].tolist() == [1, 0, 0]


@pytest.mark.parametrize("length", [1, 2, 17, SCALE.context])
def test_logits_are_those_of_the_fast_path(model: GPT, length: int) -> None:
    tokens = prompt(length)
    with torch.no_grad():
        fast = model(torch.from_numpy(tokens)[None])[0].numpy()
    found = capture(model, tokens).logits
    np.testing.assert_allclose(found, fast, rtol=0, atol=1e-5)
    assert np.abs(fast).max() > 0.1


def test_every_part_has_its_head_and_its_place(model: GPT, captured: Capture) -> None:
    """Layer 0 from the weights, one head and one pair of tokens at a time, in fp64."""
    features = SCALE.d_model // SCALE.n_heads
    token, position, qkv = (
        weights.detach().double() for weights in (model.token, model.position, model.blocks[0].qkv)
    )
    stream = norm(token[prompt()] + position)
    for head in range(SCALE.n_heads):
        rows = slice(head * features, (head + 1) * features)
        q = stream @ qkv[: SCALE.d_model][rows].T
        k = stream @ qkv[SCALE.d_model : 2 * SCALE.d_model][rows].T
        for query in range(SCALE.context):
            for key in range(SCALE.context):
                score = float(q[query] @ k[key])
                assert captured.scores[0, head, query, key] == pytest.approx(score, abs=1e-5)
                scaled = captured.scaled[0, head, query, key]
                assert scaled == pytest.approx(score / features**0.5, abs=1e-5)


def test_the_weight_of_every_later_position_is_exactly_0(captured: Capture) -> None:
    later = np.triu(np.ones((SCALE.context, SCALE.context), dtype=bool), 1)
    assert (captured.weights[:, :, later] == 0).all()
    assert (captured.weights[:, :, ~later] > 0).all()
    np.testing.assert_allclose(captured.weights.sum(3), 1, rtol=1e-6)


def test_the_largest_scores_of_all_leave_later_positions_at_0() -> None:
    scores = torch.full((2, 5, 5), -3e38).triu(0) + torch.full((2, 5, 5), 3e38).triu(1)
    weights = causal_softmax(scores)
    assert weights.triu(1).count_nonzero() == 0
    assert torch.isfinite(weights).all()


@pytest.mark.parametrize("position", [0, 1, SCALE.context - 1])
def test_a_position_sees_itself_and_what_is_before(captured: Capture, position: int) -> None:
    found = at_position(captured, position)
    assert found.tokens.tolist() == prompt()[: position + 1].tolist()
    for layer in range(SCALE.n_layers):
        for head in range(SCALE.n_heads):
            scores = captured.scores[layer, head, position, : position + 1].astype(np.float64)
            scaled = scores / (SCALE.d_model // SCALE.n_heads) ** 0.5
            np.testing.assert_array_equal(found.scores[layer, head], scores)
            np.testing.assert_allclose(found.scaled[layer, head], scaled, rtol=1e-6)
            for weights, exponents in (
                (found.weights, scaled),
                (found.unscaled_weights, scores),
            ):
                expected = np.exp(exponents) / np.exp(exponents).sum()
                np.testing.assert_allclose(weights[layer, head], expected, rtol=1e-5)


@pytest.mark.parametrize("position", [-1, SCALE.context])
def test_a_position_outside_the_prompt_is_refused(captured: Capture, position: int) -> None:
    with pytest.raises(UserError, match=f"position: {position} .*from 0 to {SCALE.context - 1}"):
        at_position(captured, position)


@pytest.mark.parametrize("length", [0, SCALE.context + 1])
def test_a_prompt_that_does_not_fit_is_refused(model: GPT, length: int) -> None:
    with pytest.raises(UserError, match=f"prompt: {length} tokens, must be from 1 to"):
        capture(model, prompt(length))


def test_nothing_is_left_behind(model: GPT, captured: Capture) -> None:
    """Not in the weights, not in torch; and an autocast around the call has no part in it."""
    before = {name: weights.detach().clone() for name, weights in model.named_parameters()}
    state, training = torch.random.get_rng_state(), model.training
    with torch.autocast("cpu", torch.bfloat16):
        again = capture(model, prompt())
        assert torch.is_autocast_enabled("cpu")
    assert torch.is_grad_enabled()
    assert torch.equal(torch.random.get_rng_state(), state)
    assert model.training == training
    for name, weights in model.named_parameters():
        assert torch.equal(weights, before[name])
        assert weights.grad is None
    for part in ("scores", "scaled", "weights", "logits"):
        found = getattr(again, part)
        assert found.dtype == np.float32
        assert found.tobytes() == getattr(captured, part).tobytes()
