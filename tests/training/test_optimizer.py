from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from andrea.config.training import Optimizer
from andrea.model.gpt import GPT, initialise
from andrea.training import optimizer
from andrea.training.optimizer import lr
from andrea.training.run import Run

CFG = Optimizer(0.9, 0.999, 1e-8, 0.1, 1.0, 0.01, 0.1)


def test_golden_rates() -> None:
    for step, multiplier in ((0, 0.0005), (1000, 0.5005), (1999, 1.0)):
        assert lr(step, 200_000, 3e-4, CFG) == pytest.approx(3e-4 * multiplier, rel=1e-12)


def test_the_rate_rises_then_falls_to_its_last_value() -> None:
    rates = [lr(step, 1000, 0.5, CFG) for step in range(1000)]
    assert max(rates) == rates[9] == 0.5
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] == pytest.approx(0.05)


def test_without_a_rise_the_first_step_has_nearly_the_peak() -> None:
    assert lr(0, 1000, 0.5, replace(CFG, lr_warmup=0.0)) == pytest.approx(0.5, rel=1e-4)


def test_moments_after_the_first_step(run: Run) -> None:
    model = GPT(run.scale)
    initialise(model, 1)
    adam = optimizer.make(model, CFG)
    gradients = []
    for weights in model.parameters():
        weights.grad = torch.randn(weights.shape, generator=torch.Generator().manual_seed(2))
        gradients.append(weights.grad.clone())
    optimizer.step(adam, 1e-3)
    for weights, gradient in zip(model.parameters(), gradients, strict=True):
        torch.testing.assert_close(adam.state[weights]["exp_avg"], 0.1 * gradient)
        torch.testing.assert_close(adam.state[weights]["exp_avg_sq"], 0.001 * gradient**2)


def test_equals_the_written_out_update(run: Run) -> None:
    """AdamW by its definition in float64: decay on matrices and head, none on the tables."""
    model = GPT(run.scale)
    initialise(model, 1)
    adam = optimizer.make(model, CFG)
    named = dict(model.named_parameters())
    wanted = {name: weights.detach().double() for name, weights in named.items()}
    first = {name: torch.zeros_like(weights) for name, weights in wanted.items()}
    second = {name: torch.zeros_like(weights) for name, weights in wanted.items()}
    generator = torch.Generator().manual_seed(2)
    for count in range(1, 6):
        for name, weights in named.items():
            weights.grad = torch.randn(weights.shape, generator=generator)
            g = weights.grad.double()
            first[name] = 0.9 * first[name] + 0.1 * g
            second[name] = 0.999 * second[name] + 0.001 * g**2
            decay = 0.0 if name in ("token", "position") else 0.1
            wanted[name] *= 1 - 0.01 * decay
            corrected = (second[name] / (1 - 0.999**count)).sqrt() + 1e-8
            wanted[name] -= 0.01 * first[name] / (1 - 0.9**count) / corrected
        optimizer.step(adam, 0.01)
    for name, weights in named.items():
        torch.testing.assert_close(weights.double(), wanted[name], rtol=1e-4, atol=1e-6)


def test_clipping_scales_the_global_norm(run: Run) -> None:
    model = GPT(run.scale)
    initialise(model, 1)
    for weights in model.parameters():
        weights.grad = torch.ones_like(weights)
    count = sum(weights.numel() for weights in model.parameters())
    assert optimizer.clip(model, 0.0) == pytest.approx(count**0.5)
    assert all(bool((weights.grad == 1).all()) for weights in model.parameters())
    optimizer.clip(model, 1.0)
    assert optimizer.clip(model, 0.0) == pytest.approx(1.0, rel=1e-4)
