from __future__ import annotations

import numpy as np
from scipy import stats

from andrea.model.generate import draw, generate
from andrea.model.gpt import GPT


def test_the_same_key_gives_the_same_text(model: GPT) -> None:
    prompts = np.array([[1, 2, 3], [4, 5, 6]])
    first, same, other = (generate(model, prompts, 20, 1.0, 50, (key, 0)) for key in (1, 1, 2))
    assert first.shape == (2, 20)
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_temperature_zero_takes_the_likeliest(model: GPT) -> None:
    prompts = np.array([[1, 2, 3]])
    greedy = generate(model, prompts, 3, 0.0, 50, (1,))
    top_one = generate(model, prompts, 3, 1.0, 1, (2,))
    assert np.array_equal(greedy, top_one)


def test_draws_follow_the_distribution() -> None:
    logits = np.log(np.array([0.05, 0.5, 0.15, 0.3]))
    uniforms = (np.arange(20_000) + 0.5) / 20_000
    counts = np.bincount([draw(logits, 1.0, 4, u) for u in uniforms], minlength=4)
    assert stats.chisquare(counts, 20_000 * np.exp(logits)).pvalue > 0.99
    cut = np.bincount([draw(logits, 1.0, 2, u) for u in uniforms[::10]], minlength=4)
    assert cut[0] == cut[2] == 0
    assert abs(cut[1] / cut[3] - 5 / 3) < 0.01
