from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import stats
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from andrea.common.codec import decode
from andrea.common.errors import UserError
from andrea.model.filters import (
    Sampling,
    choose,
    discourage,
    draw,
    keep_likeliest,
    keep_near,
    keep_nucleus,
    warm,
)

from . import oracle

ALMOST_ONE = 1 - 2.0**-53
LOGITS = arrays(
    np.float64, (3, 12), elements=st.sampled_from([-1000.0, -2.0, -0.5, 0.0, 0.25, 1.0, 30.0])
)
UNIFORMS = arrays(np.float64, 3, elements=st.integers(0, 2**53 - 1).map(lambda n: n / 2**53))
SAMPLINGS = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.3, 1.0, 5.0]),
    top_k=st.integers(0, 15),
    top_p=st.sampled_from([0.05, 0.5, 0.9, 1.0]),
    min_p=st.sampled_from([0.0, 0.07, 0.5, 1.0]),
    repetition_penalty=st.sampled_from([0.5, 1.0, 1.7]),
)


@given(
    logits=LOGITS,
    sampling=SAMPLINGS,
    seen=arrays(np.bool_, (3, 12)),
    uniforms=UNIFORMS,
)
def test_choices_equal_readable_ones_also_among_equals(
    logits: NDArray[np.float64],
    sampling: Sampling,
    seen: NDArray[np.bool_],
    uniforms: NDArray[np.float64],
) -> None:
    before = logits.copy()
    chosen = choose(logits, sampling, seen, uniforms)
    assert np.array_equal(logits, before)
    for row, tokens, token, uniform in zip(logits, seen, chosen, uniforms, strict=True):
        known = set(np.flatnonzero(tokens).tolist())
        nearby = {
            oracle.choice(row.tolist(), sampling, known, float(u))
            for u in np.clip(uniform + np.array([-1e-15, 0, 1e-15]), 0, ALMOST_ONE)
        }
        assert token in nearby


@given(logits=LOGITS, count=st.integers(1, 15))
def test_the_likeliest_are_kept_of_equals_the_first(
    logits: NDArray[np.float64], count: int
) -> None:
    kept = keep_likeliest(logits, count)
    for row, of_row in zip(logits, kept, strict=True):
        ranked = sorted(range(12), key=lambda token: (-row[token], token))
        assert np.flatnonzero(of_row > -np.inf).tolist() == sorted(ranked[:count])
        assert np.array_equal(of_row[ranked[:count]], row[ranked[:count]])


@given(logits=LOGITS, share=st.floats(0.01, 1))
def test_a_nucleus_is_the_least_that_reaches_the_share(
    logits: NDArray[np.float64], share: float
) -> None:
    kept = keep_nucleus(logits, share) > -np.inf
    for row, inside in zip(logits, kept, strict=True):
        probability = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
        assert inside[row.argmax()]
        assert probability[inside].sum() > share - 1e-12
        assert probability[inside].sum() - probability[inside].min() < share + 1e-12
        assert probability[inside].min() >= probability[~inside].max(initial=0)


def random_logits(rows: int = 40, width: int = 500) -> NDArray[np.float64]:
    """No two alike, some taken out already."""
    rng = np.random.default_rng(2)
    logits = rng.normal(0, 3, (rows, width))
    logits[rng.random(logits.shape) < 0.05] = -np.inf
    return logits


def test_each_filter_keeps_what_transformers_keeps() -> None:
    """The very same values, the very same tokens."""
    logits = random_logits()
    none = torch.zeros((len(logits), 1), dtype=torch.long)
    for theirs, ours in [
        *((TopKLogitsWarper(k), keep_likeliest(logits, k)) for k in (1, 7, 499)),
        *((TopPLogitsWarper(p), keep_nucleus(logits, p)) for p in (0.01, 0.3, 0.9, 0.999)),
        *((MinPLogitsWarper(p), keep_near(logits, p)) for p in (0.001, 0.05, 0.5, 1.0)),
    ]:
        found = theirs(none, torch.from_numpy(logits)).numpy()
        assert np.array_equal(found, ours), theirs


@pytest.mark.parametrize("penalty", [0.7, 1.0, 1.3])
def test_what_was_seen_is_discouraged_as_in_transformers(penalty: float) -> None:
    logits = random_logits()
    text = np.random.default_rng(3).integers(0, logits.shape[1], (len(logits), 60))
    seen = np.zeros(logits.shape, dtype=np.bool_)
    np.put_along_axis(seen, text, True, axis=1)
    theirs = RepetitionPenaltyLogitsProcessor(penalty)
    found = theirs(torch.from_numpy(text), torch.from_numpy(logits)).numpy()
    assert np.array_equal(found, discourage(logits, seen, penalty))


@pytest.mark.parametrize(
    "sampling",
    [Sampling(0.7, 40, 0.9, 0.05, 1.2), Sampling(1.5, 0, 0.95), Sampling(0.5, 0, 1.0, 0.1, 1.1)],
)
def test_all_together_give_the_distribution_of_transformers(sampling: Sampling) -> None:
    """Draws at even uniforms fall as its probabilities say."""
    logits = random_logits(1)
    text = np.arange(0, 500, 3)[None]
    theirs = LogitsProcessorList(
        [
            RepetitionPenaltyLogitsProcessor(sampling.repetition_penalty),
            TemperatureLogitsWarper(sampling.temperature),
            TopKLogitsWarper(sampling.top_k or 500),
            TopPLogitsWarper(sampling.top_p),
            MinPLogitsWarper(sampling.min_p),
        ]
    )
    shares = theirs(torch.from_numpy(text), torch.from_numpy(logits)).softmax(-1)[0].numpy()
    seen = np.zeros((1, 500), dtype=np.bool_)
    seen[0, text] = True
    draws = 2000
    uniforms = (np.arange(draws) + 0.5) / draws
    drawn = choose(np.repeat(logits, draws, 0), sampling, np.repeat(seen, draws, 0), uniforms)
    np.testing.assert_allclose(np.bincount(drawn, minlength=500), draws * shares, atol=1)


def test_a_token_that_was_taken_out_is_never_drawn() -> None:
    logits = np.array([[-np.inf, 0.0, -800.0, -np.inf], [5.0, -np.inf, 4.0, 4.0]])
    assert draw(logits, np.array([ALMOST_ONE, ALMOST_ONE])).tolist() == [1, 3]
    assert draw(logits, np.array([0.0, 0.0])).tolist() == [1, 0]


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(1.0, 40),
        Sampling(0.7, 12),
        Sampling(1.6, 5),
        Sampling(0.5, 2),
        Sampling(1.3, 0, 0.8),
        Sampling(1.0, 0, 1.0, 0.1),
        Sampling(0.9, 20, 0.95, 0.02, 1.4),
    ],
)
def test_draws_follow_the_filtered_distribution(sampling: Sampling) -> None:
    rng = np.random.default_rng(8)
    logits = rng.normal(0, 1.5, 40)
    seen = np.arange(40) % 3 == 0
    known = oracle.shares(logits.tolist(), sampling, set(np.flatnonzero(seen).tolist()))
    shares = np.zeros(40)
    shares[list(known)] = list(known.values())
    shares /= shares.sum()
    draws = 30_000
    rows = np.tile(logits, (draws, 1)), sampling, np.tile(seen, (draws, 1))
    counts = np.bincount(choose(*rows, rng.random(draws)), minlength=40)
    assert not counts[shares == 0].any()
    assert stats.chisquare(counts[shares > 0], draws * shares[shares > 0]).pvalue > 0.01
    even = choose(*rows, (np.arange(draws) + 0.5) / draws)
    np.testing.assert_allclose(np.bincount(even, minlength=40), draws * shares, atol=1)


def test_warming_moves_the_largest_to_zero() -> None:
    logits = np.array([[1.0, 3.0, -np.inf]])
    assert warm(logits, 0.5).tolist() == [[-4.0, 0.0, -np.inf]]


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("temperature", -1.0, "0 or more"),
        ("top_k", -1, "0 or more"),
        ("top_p", 0.0, "from 0 to 1, not 0"),
        ("min_p", 1.5, "from 0 to 1"),
        ("repetition_penalty", 0.0, "above 0"),
    ],
)
def test_what_is_allowed_stands_with_the_field(name: str, value: float, allowed: str) -> None:
    given = {**vars(Sampling()), name: value}
    with pytest.raises(UserError, match=f"x.{name}: {value} is not allowed, must be {allowed}$"):
        decode(given, Sampling, "x")
