"""Recitation without generating, its passages, and the figures made of it."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from andrea.config.training import Compute, Scale
from andrea.evaluation.memorization import (
    compare,
    difference,
    half_tokens,
    matched_tokens,
    measure,
    overall,
    passages,
)
from andrea.evaluation.run import read_sequences
from andrea.mixture import sampler
from andrea.model.generate import generate
from andrea.model.gpt import GPT, initialise
from andrea.training import batches, machine
from tests.networks import network

SCALE = Scale(40, 32, 4, 1, 63, 4, 1, 10, 0, 0.01, 5)
HALF = 32


@cache
def on() -> machine.Machine:
    return machine.prepare(Compute("cpu", "fp32", False, 1))


@pytest.fixture
def model() -> GPT:
    """Weights drawn everywhere."""
    return network(SCALE, spread=0.2)


def greedy(model: GPT, prompts: np.ndarray) -> np.ndarray:
    """32 tokens, really generated."""
    return generate(model, prompts, HALF, 0.0, 1, (0,))


def before_first_miss(found: np.ndarray, true: np.ndarray) -> list[int]:
    """The definition, written as a loop."""
    counts = []
    for one, other in zip(found.tolist(), true.tolist(), strict=True):
        count = 0
        while count < len(one) and one[count] == other[count]:
            count += 1
        counts.append(count)
    return counts


def test_one_forward_pass_finds_what_generation_finds(model: GPT) -> None:
    """Texts that leave the greedy path at every place, and some that never do."""
    rng = np.random.default_rng(1)
    prompts = rng.integers(0, SCALE.vocabulary, (HALF + 3, HALF))
    true = greedy(model, prompts)
    for place in range(HALF):
        true[place, place:] = rng.permutation(true[place, place:])
        true[place, place] = (true[place, place] + 1 + rng.integers(50)) % SCALE.vocabulary
    drawn = np.concatenate([prompts, true], axis=1)
    found = matched_tokens(model, drawn, 8, on())
    assert found.tolist() == before_first_miss(greedy(model, prompts), true)
    assert found[HALF:].tolist() == [HALF] * 3
    assert len(set(found.tolist())) > HALF // 2


def test_of_equal_logits_the_first_counts_as_in_generation(model: GPT) -> None:
    """Every id has a twin with the same row in the head."""
    twins = SCALE.vocabulary // 2
    with torch.no_grad():
        model.head.weight[twins : 2 * twins] = model.head.weight[:twins]
        model.head.weight[2 * twins :] = 0
    prompts = np.random.default_rng(2).integers(0, SCALE.vocabulary, (5, HALF))
    true = greedy(model, prompts)
    assert (true < twins).all()
    assert matched_tokens(model, np.hstack([prompts, true]), 3, on()).tolist() == [HALF] * 5
    true[:, 7] += twins
    assert matched_tokens(model, np.hstack([prompts, true]), 3, on()).tolist() == [7] * 5


def test_what_was_learned_is_recited_and_what_was_not_is_not() -> None:
    """Sequences trained until they are known, beside others of the same kind."""
    rng = np.random.default_rng(5)
    train, held_out = (rng.integers(0, 256, 8 * SCALE.context + 1).astype(np.uint16) for _ in "ab")
    model = GPT(SCALE)
    initialise(model, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    known, rows = np.array([0, 2, 3, 6]), np.zeros(4, np.int64)
    for _ in range(60):
        loss, _ = model.mean_nats(*batches.fetch([train], rows, known, SCALE.context))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    found = measure(model, train, known, held_out, 4, (7, 0), 3, on())
    assert (found.prompts_train, found.prompts_control) == (4, 4)
    assert (found.extracted_train, found.extracted_control) == (1, 0)
    assert found.matched_tokens_train == HALF
    assert found.low is not None and found.low > 0
    unread = measure(model, train, np.array([1, 4, 5, 7]), held_out, 4, (7, 0), 3, on())
    assert unread.extracted_train == 0
    assert measure(model, train, known, held_out, 4, (7, 0), 1, on()) == found


@given(
    documents=st.lists(st.integers(1, 90), min_size=1, max_size=30),
    count=st.integers(1, 9),
    context=st.integers(2, 70),
    seed=st.integers(0, 9),
)
def test_passages_begin_where_they_may_and_cross_no_border(
    documents: list[int], count: int, context: int, seed: int
) -> None:
    """Every token tells its place in the stream."""
    stream = np.arange(1000, 1000 + sum(documents) + len(documents)).astype(np.uint16)
    stream[np.cumsum([0, *(size + 1 for size in documents[:-1])])] = 256
    length = 2 * half_tokens(context)
    starts = np.arange(batches.count(stream, context)) * context
    found = passages(stream, starts, length, count, np.random.default_rng(seed))
    possible = {s for s in starts.tolist() if 256 not in stream[s : s + length]}
    begins = (found[:, 0] - 1000).tolist()
    assert set(begins) <= possible
    assert len(begins) == len(set(begins)) == min(count, len(possible))
    assert (found == found[:, :1] + np.arange(length)).all()


@pytest.mark.parametrize(("context", "half"), [(1, 1), (32, 16), (33, 17), (62, 31), (63, 32),
                                               (256, 32)])  # fmt: skip
def test_a_passage_fits_into_a_sequence(context: int, half: int) -> None:
    """T inputs and one more token as the last target."""
    assert half_tokens(context) == half


@pytest.mark.parametrize("batches_read", [0, 1, 5, 40])
def test_read_are_the_sequences_that_the_sampler_gave(batches_read: int) -> None:
    """Of each source, in any number of epochs."""
    sizes, seed = [13, 40, 0], 11
    state, given_ = sampler.init(3), [set[int](), set[int](), set[int]()]
    for _ in range(batches_read):
        plan, state = sampler.plan(state, [0.7, 0.3, 0.0], 4, sizes, seed)
        for source, position in zip(plan.source.tolist(), plan.position.tolist(), strict=True):
            given_[source].add(position)
    for source, size in enumerate(sizes):
        found = read_sequences(seed, source, state.cursors[source], size).tolist()
        assert len(found) == len(set(found))
        assert set(found) == given_[source]


def test_nothing_read_is_no_share_of_nothing() -> None:
    """None and the reason, never 0."""
    model = GPT(SCALE)
    initialise(model, 1)
    text = np.arange(300).astype(np.uint16)
    text[256:] = 7
    nothing = np.zeros(0, dtype=np.int64)
    found = measure(model, text, nothing, text, 4, (7, 0), 3, on())
    assert (found.prompts_train, found.extracted_train, found.matched_tokens_train) == (
        0, None, None
    )  # fmt: skip
    assert (found.difference, found.low, found.high, found.note) == (None, None, None, "not read")
    assert found.extracted_control == 0
    short = np.full(300, 256, np.uint16)
    found = measure(model, short, np.arange(4), text, 4, (7, 0), 3, on())
    assert (found.extracted_train, found.note) == (None, "no training passage of 64 tokens")
    found = measure(model, text, np.arange(4), short, 4, (7, 0), 3, on())
    assert (found.extracted_control, found.note) == (None, "no held-out passage of 64 tokens")
    assert found.extracted_train == 0


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((56, 70, 48, 80), 0.0524, 0.3339),
        ((9, 10, 3, 10), 0.1705, 0.8090),
        ((6, 7, 2, 7), 0.0582, 0.8062),
        ((5, 56, 0, 29), -0.0381, 0.1926),
        ((0, 10, 0, 20), -0.1611, 0.2775),
        ((10, 10, 0, 10), 0.6075, 1.0),
    ],
)
def test_intervals_are_those_that_newcombe_printed(
    counts: tuple[int, int, int, int], low: float, high: float
) -> None:
    """Table II of the article, method 10."""
    apart, *interval = difference(*counts)
    assert apart == counts[0] / counts[1] - counts[2] / counts[3]
    assert interval == pytest.approx([low, high], abs=5e-5)


@given(hits=st.integers(0, 64), of=st.integers(1, 64), other=st.integers(0, 9))
def test_exchanging_the_groups_turns_the_interval_round(hits: int, of: int, other: int) -> None:
    """And the difference lies in it, and it in -1..1."""
    hits = min(hits, of)
    apart, low, high = difference(hits, of, other, 9)
    back, other_low, other_high = difference(other, 9, hits, of)
    assert (back, other_low, other_high) == pytest.approx((-apart, -high, -low), abs=1e-12)
    assert -1 - 1e-12 <= low <= apart + 1e-12
    assert apart - 1e-12 <= high <= 1 + 1e-12


def test_means_are_over_the_sources_that_could_be_compared() -> None:
    """The mean's interval is that of one source by the root of their number."""
    none, some = np.zeros(64, np.int64), np.array([HALF] * 16 + [3] * 48)
    one = compare(some, none, HALF)
    unread = replace(one, extracted_train=None, difference=None, low=None, high=None)
    alone = overall({"a": one, "unread": unread})
    assert (alone["low"], alone["high"]) == pytest.approx((one.low, one.high))
    assert alone["matched_tokens_train"] == (16 * HALF + 48 * 3) / 64
    four = overall(dict.fromkeys("abcd", one))
    assert four["difference"] == one.difference == 0.25
    assert one.low is not None
    assert 0.25 - four["low"] == pytest.approx((0.25 - one.low) / math.sqrt(4))
    assert overall({"unread": unread}) == {}


def test_the_worst_source_is_that_of_the_largest_difference_then_of_the_longest_match() -> None:
    """Where nothing is recited to the end, the matched tokens tell."""
    zero = np.zeros(8, np.int64)
    easy = compare(zero + 9, zero + 9, HALF)
    further = compare(zero + 3, zero, HALF)
    recited = compare(np.array([HALF, 0]), zero, HALF)
    assert overall({"easy": easy, "further": further})["worst_source"] == "further"
    found = overall({"recited": recited, "further": further})
    assert (found["worst_source"], found["worst_difference"]) == ("recited", 0.5)
    assert (found["worst_low"], found["worst_high"]) == (recited.low, recited.high)
