from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from andrea.config.training import Compute, Curriculum
from andrea.model.cache import Cache
from andrea.model.filters import Sampling
from andrea.model.generate import generate, stream, window_start
from andrea.model.gpt import GPT, initialise
from andrea.training import checkpoint, machine
from andrea.training.loop import run_regime
from tests.runs import made_run, new

from . import oracle
from .conftest import SCALE

PROMPTS = [np.array([1, 2, 3]), np.array([7]), np.arange(16), np.arange(40)]


def readable_generate(
    model: GPT,
    prompts: Sequence[NDArray[np.int64]],
    tokens: int,
    sampling: Sampling,
    key: tuple[int, ...],
) -> list[list[int]]:
    """Every row alone, the whole window read for every token."""
    texts = [prompt.tolist() for prompt in prompts]
    for row, text in enumerate(texts):
        for number in range(tokens):
            seen = text[int(window_start(np.array([len(text)]), model.context)[0]) :]
            with torch.no_grad():
                logits = model(torch.tensor([seen]))[0, -1].double().numpy()
            uniform = np.random.default_rng([*key, number]).random(row + 1)[row]
            text.append(oracle.choice(logits.tolist(), sampling, set(text), uniform))
    return [text[-tokens:] for text in texts]


def made(layers: int, width: int, heads: int, context: int) -> GPT:
    network = GPT(replace(SCALE, n_layers=layers, d_model=width, n_heads=heads, context=context))
    initialise(network, seed=3)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for weights in network.parameters():
            if not weights.any():
                weights.normal_(0, 0.1, generator=generator)
    return network


@pytest.mark.parametrize(
    "layers, width, heads, context, rows",
    [(1, 8, 1, 4, 1), (2, 32, 4, 16, 3), (3, 48, 3, 33, 5), (2, 64, 2, 128, 2)],
)
def test_cached_logits_equal_recomputed_ones_up_to_the_edge(
    layers: int, width: int, heads: int, context: int, rows: int
) -> None:
    network = made(layers, width, heads, context)
    rng = np.random.default_rng(context)
    tokens = rng.integers(0, SCALE.vocabulary, (rows, context))
    with torch.no_grad():
        expected = network(torch.from_numpy(tokens))
    for first in sorted({1, 2, context // 2, context - 1}):
        cache = Cache(network, rows, context)
        cache.fill(np.arange(rows), tokens[:, :first])
        for place in range(first, context):
            found = cache.step(tokens[:, place], np.full(rows, place))
            assert relative_error(found, expected[:, place]) < 1e-5


def test_rows_of_different_lengths_do_not_know_of_each_other(model: GPT) -> None:
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, SCALE.vocabulary, (4, 16))
    lengths = np.array([1, 5, 12, 9])
    with torch.no_grad():
        expected = model(torch.from_numpy(tokens))
    cache = Cache(model, 4, 16)
    cache.fill(np.arange(4), tokens)  # what lies beyond a row's length is padding
    for ends in lengths + np.arange(5)[:, None]:
        found = cache.step(tokens[np.arange(4), ends - 1], ends - 1)
        assert relative_error(found, expected[np.arange(4), ends - 1]) < 1e-5
    other = (tokens + 1) % SCALE.vocabulary
    cache.fill(np.array([2]), other[[2]])
    found = cache.step(np.array([tokens[0, 5], tokens[1, 9], other[2, 15], tokens[3, 13]]),
                       np.array([5, 9, 15, 13]))  # fmt: skip
    with torch.no_grad():
        expected[2] = model(torch.from_numpy(other[[2]]))[0]
    assert relative_error(found, expected[np.arange(4), [5, 9, 15, 13]]) < 1e-5


def test_a_full_row_takes_no_token(model: GPT) -> None:
    cache = Cache(model, 2, 6)
    with pytest.raises(IndexError, match="position 6 in a cache for 6 tokens"):
        cache.step(np.array([1, 1]), np.array([3, 6]))


def relative_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Largest difference over the largest logit, the worst row's."""
    return float(((found - expected).abs().amax(1) / expected.abs().amax(1)).max())


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(0.0, 50),
        Sampling(0.8, 5),
        Sampling(1.0, 50),
        Sampling(3.0, 10_000),
        Sampling(1.2, 0, 0.8, 0.05, 1.3),
        Sampling(0.0, repetition_penalty=1.5),
    ],
)
def test_text_equals_that_of_a_readable_second_implementation(
    model: GPT, sampling: Sampling
) -> None:
    """Prompts of unequal length, and texts that outgrow the context twice."""
    expected = np.array(readable_generate(model, PROMPTS, 36, sampling, (1, 2)))
    given = stream(model, PROMPTS, 36, sampling, (1, 2))
    assert np.array_equal(np.stack(list(given), 1), expected)
    if sampling == Sampling(sampling.temperature, sampling.top_k):
        plain = generate(model, PROMPTS, 36, sampling.temperature, sampling.top_k, (1, 2))
        assert np.array_equal(plain, expected)


def test_a_stream_may_be_left_early(model: GPT) -> None:
    """What it said until then does not depend on how much was asked for."""
    whole = list(stream(model, PROMPTS, 30, Sampling(), (1,)))
    assert np.array_equal(
        list(islice(stream(model, PROMPTS, 1000, Sampling(), (1,)), 12)), whole[:12]
    )


def test_the_first_token_may_be_asked_to_be_one_of_some(model: GPT) -> None:
    """And what follows is free again."""
    rare = np.zeros(SCALE.vocabulary, dtype=np.bool_)
    rare[[5, 200]] = True
    texts = [list(stream(model, PROMPTS, 8, Sampling(), (n,), rare)) for n in range(20)]
    assert {int(i) for text in texts for i in text[0]} == {5, 200}
    assert len({int(i) for text in texts for i in text[1]}) > 20


def test_the_same_key_gives_the_same_text(model: GPT) -> None:
    prompts = np.array([[1, 2, 3], [4, 5, 6]])
    first, same, other = (generate(model, prompts, 20, 1.0, 50, (key, 0)) for key in (1, 1, 2))
    assert first.shape == (2, 20)
    assert first.dtype == np.int64
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_going_on_is_as_if_never_stopped(model: GPT) -> None:
    """At temperature 0: with a key, what draws a token depends on its number."""
    whole = generate(model, PROMPTS, 30, 0.0, 1, (1,))
    begun = [np.append(p, t[:11]) for p, t in zip(PROMPTS, whole, strict=True)]
    assert np.array_equal(generate(model, begun, 19, 0.0, 1, (1,)), whole[:, 11:])


def test_temperature_zero_takes_the_likeliest(model: GPT) -> None:
    prompts = np.array([[1, 2, 3]])
    greedy = generate(model, prompts, 3, 0.0, 50, (1,))
    top_one = generate(model, prompts, 3, 1.0, 1, (2,))
    assert np.array_equal(greedy, top_one)


def test_nothing_may_be_asked_for_but_not_from_nothing(model: GPT) -> None:
    assert generate(model, PROMPTS, 0, 1.0, 5, (1,)).shape == (4, 0)
    with pytest.raises(ValueError, match="prompt 1: no token"):
        generate(model, [np.array([1]), np.array([], dtype=np.int64)], 3, 1.0, 5, (1,))


@given(length=st.integers(1, 2000), context=st.integers(1, 300))
def test_a_window_is_long_enough_and_moves_seldom(length: int, context: int) -> None:
    start, after = window_start(np.array([length, length + 1]), context)
    if length <= context:
        assert start == 0
    else:
        assert context // 2 < length - start <= context
    assert after == start or after - start == context - context // 2


def test_half_precision_stays_close(model: GPT, tokens_BT: torch.Tensor) -> None:
    tokens = tokens_BT.numpy()
    with torch.no_grad():
        exact = model(tokens_BT)
    with torch.autocast("cpu", torch.bfloat16):
        cache = Cache(model, 3, 16)
        cache.fill(np.arange(3), tokens[:, :6])
        for place in range(6, 16):
            found = cache.step(tokens[:, place], np.full(3, place))
            assert found.dtype == torch.bfloat16
            assert relative_error(found.float(), exact[:, place]) < 0.03
        assert generate(model, PROMPTS, 20, 0.8, 5, (1,)).shape == (4, 20)


def test_a_gradient_under_the_same_autocast_is_as_without(
    model: GPT, tokens_BT: torch.Tensor
) -> None:
    def gradients(before: Callable[[], object]) -> list[torch.Tensor]:
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            before()
            mean, _ = model.mean_nats(tokens_BT[:, :-1], tokens_BT[:, 1:])
        mean.backward()
        return [weights.grad.clone() for weights in model.parameters()]

    without = gradients(lambda: None)
    with_text = gradients(lambda: generate(model, PROMPTS, 4, 0.8, 5, (1,)))
    assert all(gradient.any() for gradient in without)
    assert all(map(torch.equal, without, with_text))


def test_a_compiled_forward_is_not_called(model: GPT, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was compiled for a batch's shape, and would be compiled again for every length."""
    monkeypatch.setattr(model, "features", None)
    assert generate(model, PROMPTS, 20, 0.8, 5, (1,)).shape == (4, 20)


def test_nothing_global_changes(model: GPT) -> None:
    def settings() -> list[object]:
        return [
            torch.get_rng_state().tolist(),
            np.random.get_state()[1].tolist(),
            torch.is_grad_enabled(),
            torch.get_num_threads(),
            torch.get_default_dtype(),
            torch.are_deterministic_algorithms_enabled(),
            model.training,
        ]

    before = settings()
    weights = [value.detach().clone() for value in model.parameters()]
    generate(model, PROMPTS, 20, 0.8, 5, (1,))
    assert settings() == before
    assert all(map(torch.equal, model.parameters(), weights))
    assert all(value.grad is None for value in model.parameters())


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_training_with_text_in_between_gives_the_same_bytes(tmp_path: Path, dtype: str) -> None:
    rng = np.random.default_rng(0)
    streams = [rng.integers(0, SCALE.vocabulary, 400).astype(np.uint16) for _ in range(3)]
    run = made_run(
        scale=replace(SCALE, steps=6),
        curriculum=Curriculum(shortest_phase=2, longest_phase=3, random_share=0.5, eta=0.3),
        machine=replace(machine.prepare(Compute("cpu", "fp32", False, 1)), dtype=dtype),
        train=streams,
        probe=[stream[:40] for stream in streams],
        byte_lengths=np.ones(SCALE.vocabulary, dtype=np.int64),
        end_step=6,
    )
    saved = []
    for texts in (0, 1, 2):
        training = new(run)
        for _ in run_regime(training, run):
            for number in range(texts):
                with run.machine.autocast():
                    generate(training.model, PROMPTS, 20, 0.8, 50, (5, training.step, number))
        assert training.step == 6
        path = tmp_path / str(texts)
        checkpoint.save(path, training, {})
        saved.append(path.read_bytes())
    assert saved[0] == saved[1] == saved[2]
