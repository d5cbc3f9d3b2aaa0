from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from andrea.common.errors import UserError
from andrea.config import tree
from andrea.model.gpt import GPT, initialise, norm

from .conftest import SCALE

GOLDEN = json.loads((Path(__file__).parents[1] / "golden.json").read_text())
SCALES = tree.load(Path(__file__).parents[2] / "params.yaml").scales


def readable_attention(q_Tk: Tensor, k_Tk: Tensor, v_Tk: Tensor) -> tuple[Tensor, Tensor]:
    """softmax(Q K^T / sqrt(d_k)) V for one head, one query after the other."""
    weights_TT = torch.zeros(len(q_Tk), len(q_Tk), dtype=q_Tk.dtype)
    for query in range(len(q_Tk)):
        scores = torch.stack([q_Tk[query] @ k_Tk[key] for key in range(query + 1)])
        powers = (scores / math.sqrt(q_Tk.shape[1])).exp()
        weights_TT[query, : query + 1] = powers / powers.sum()
    return weights_TT @ v_Tk, weights_TT


def readable_logits(model: GPT, tokens_T: Tensor) -> Tensor:
    """The whole network for one row, head by head and in float64."""
    weights = {name: value.detach().double() for name, value in model.named_parameters()}
    stream = weights["token"][tokens_T] + weights["position"][: len(tokens_T)]
    for layer, block in enumerate(model.blocks):
        qkv = norm(stream) @ weights[f"blocks.{layer}.qkv"].T
        width = stream.shape[1]
        d_k = width // block.heads
        heads = []
        for head in range(block.heads):
            columns = [slice(part * width + head * d_k, part * width + (head + 1) * d_k)
                       for part in range(3)]  # fmt: skip
            heads.append(readable_attention(*(qkv[:, c] for c in columns))[0])
        stream = stream + torch.cat(heads, 1) @ weights[f"blocks.{layer}.out"].T
        hidden = (norm(stream) @ weights[f"blocks.{layer}.up"].T).clamp_min(0) ** 2
        stream = stream + hidden @ weights[f"blocks.{layer}.down"].T
    return norm(stream) @ weights["head.weight"].T


def test_golden_attention() -> None:
    golden = GOLDEN["attention_projection"]
    keys = torch.tensor(golden["keys"], dtype=torch.float64)
    query = torch.tensor(golden["q"], dtype=torch.float64).expand(3, 4)
    assert (query[0] @ keys.T).tolist() == golden["scores"]
    _, weights = readable_attention(query, keys, keys)
    torch.testing.assert_close(
        weights[2], torch.tensor(golden["weights"], dtype=torch.float64), rtol=1e-12, atol=0
    )
    fast = torch.nn.functional.scaled_dot_product_attention(
        query[None], keys[None], torch.eye(3, 4, dtype=torch.float64)[None], is_causal=True
    )
    torch.testing.assert_close(fast[0, :, :3], weights, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["andrea-12m", "andrea-120m"])
def test_golden_parameters(name: str) -> None:
    size = SCALES[name]
    with torch.device("meta"):
        model = GPT(size)
    counted = sum(weights.numel() for weights in model.parameters())
    assert counted == size.parameters == GOLDEN["parameters"][name]
    key = f"{size.d_model}/{size.n_heads}"
    assert size.d_model // size.n_heads == GOLDEN["head_width"][key]
    assert size.vocabulary in GOLDEN["vocabulary"].values()
    assert math.log(size.vocabulary) == GOLDEN["random_loss_nats"][str(size.vocabulary)]


def test_parameters_stand_in_the_order_of_the_original_file(model: GPT) -> None:
    names = [name for name, _ in model.named_parameters()]
    block = ["qkv", "out", "up", "down"]
    layers = [f"blocks.{layer}.{part}" for layer in range(SCALE.n_layers) for part in block]
    assert names == ["token", "position", *layers, "head.weight"]


def test_equals_a_readable_second_implementation(model: GPT, tokens_BT: Tensor) -> None:
    expected = torch.stack([readable_logits(model, row) for row in tokens_BT])
    torch.testing.assert_close(model(tokens_BT).double(), expected, rtol=1e-4, atol=1e-5)


def test_a_later_token_changes_no_earlier_logit(model: GPT, tokens_BT: Tensor) -> None:
    before = model(tokens_BT)
    for place in range(1, 16):
        changed = tokens_BT.clone()
        changed[:, place] = (changed[:, place] + 1) % SCALE.vocabulary
        after = model(changed)
        assert torch.equal(before[:, :place], after[:, :place])
        assert not torch.equal(before[:, place], after[:, place])


def test_the_weight_of_every_later_position_is_exactly_zero(model: GPT) -> None:
    generator = torch.Generator().manual_seed(1)
    q, k = torch.randn(2, 16, 8, generator=generator).unbind()
    identity = torch.eye(16)[None]
    seen = torch.nn.functional.scaled_dot_product_attention(
        q[None], k[None], identity, is_causal=True
    )[0]
    assert not seen.triu(1).any()
    torch.testing.assert_close(seen.sum(1), torch.ones(16))


def test_a_new_model_knows_nothing(tokens_BT: Tensor) -> None:
    model = GPT(SCALE)
    initialise(model, 7)
    losses = model.nats(tokens_BT[:, :-1], tokens_BT[:, 1:])
    torch.testing.assert_close(losses, torch.full_like(losses, math.log(SCALE.vocabulary)))


def test_initial_weights_depend_on_the_seed_alone() -> None:
    models = [GPT(SCALE) for _ in range(3)]
    for model, seed in zip(models, (1, 1, 2), strict=True):
        initialise(model, seed)
    first, same, other = ([w.detach() for w in model.parameters()] for model in models)
    assert all(torch.equal(a, b) for a, b in zip(first, same, strict=True))
    assert not torch.equal(first[0], other[0])


def test_loss_and_gradient_equal_plain_cross_entropy(model: GPT, tokens_BT: Tensor) -> None:
    inputs, targets = tokens_BT[:, :-1], tokens_BT[:, 1:]
    mean, losses = model.mean_nats(inputs, targets)
    (2 * mean).backward()
    ours = [weights.grad.clone() for weights in model.parameters()]
    model.zero_grad()
    plain = torch.nn.functional.cross_entropy(
        model(inputs).flatten(0, 1), targets.flatten(), reduction="none"
    )
    (2 * plain.mean()).backward()
    torch.testing.assert_close(losses.flatten(), plain.detach(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(model.nats(inputs, targets), losses, rtol=1e-5, atol=1e-6)
    for gradient, weights in zip(ours, model.parameters(), strict=True):
        torch.testing.assert_close(gradient, weights.grad, rtol=1e-4, atol=1e-6)


def test_cross_entropy_in_blocks_is_the_same(
    model: GPT, tokens_BT: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, targets = tokens_BT[:, :-1], tokens_BT[:, 1:]
    whole = model.mean_nats(inputs, targets)[1]
    monkeypatch.setattr("andrea.model.cross_entropy.CPU_BLOCK_LOGITS", 7 * SCALE.vocabulary)
    torch.testing.assert_close(model.mean_nats(inputs, targets)[1], whole, rtol=1e-5, atol=1e-6)


def test_half_precision_stays_close_and_keeps_fp32_gradients(model: GPT, tokens_BT: Tensor) -> None:
    inputs, targets = tokens_BT[:, :-1], tokens_BT[:, 1:]
    exact, _ = model.mean_nats(inputs, targets)
    with torch.autocast("cpu", torch.bfloat16):
        rough, losses = model.mean_nats(inputs, targets)
    rough.backward()
    assert losses.dtype == rough.dtype == torch.float32
    assert rough.item() != exact.item()
    assert rough.item() == pytest.approx(exact.item(), rel=0.02)
    assert all(weights.grad.dtype == torch.float32 for weights in model.parameters())


def test_d_model_must_be_divisible_by_heads() -> None:
    with pytest.raises(UserError, match=r"scales\.x\.d_model: 32 is not divisible by 5 heads"):
        replace(SCALE, n_heads=5).check("scales.x")
