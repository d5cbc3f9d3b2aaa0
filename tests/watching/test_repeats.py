from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from andrea.watching import repeats
from andrea.watching.repeats import WINDOW_TOKENS, Repeats, find

Tokens = NDArray[np.uint16]
BOS = 256
SMALL = st.lists(st.sampled_from([0, 1, 256, 257]), min_size=1, max_size=120)


def array(values: list[int]) -> Tokens:
    return np.array(values, dtype=np.uint16)


def naive(stretch: Tokens, stream: Tokens) -> int:
    """Documents, by BOS, in which the stretch begins."""
    holding = {
        int(np.count_nonzero(stream[: place + 1] == BOS))
        for place in range(len(stream) - len(stretch) + 1)
        if np.array_equal(stream[place : place + len(stretch)], stretch)
    }
    return len(holding)


@pytest.mark.parametrize("chunk", [1, 5, 64, repeats.CHUNK_TOKENS])
@given(values=SMALL, stream=SMALL)
def test_it_counts_as_a_naive_search_does(values: list[int], stream: list[int], chunk: int) -> None:
    """Ids such as 256 and 1 hold each other's bytes one byte apart: only whole tokens count."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "CHUNK_TOKENS", chunk)
        patch.setattr(repeats, "WINDOW_TOKENS", 3)
        found = find(array(values), array(stream), BOS)
    length = min(3, len(values))
    starts = range(0, len(values) - length + 1, length)
    counts = [naive(array(values[s : s + length]), array(stream)) for s in starts]
    commonest = sorted(counts, reverse=True)
    assert found == Repeats(
        max(counts), starts[int(np.argmax(counts))], length, commonest[(len(counts) - 1) // 4]
    )


def test_a_repeated_document_is_found_however_sequences_cut_it() -> None:
    rng = np.random.default_rng(0)
    document = np.concatenate([[BOS], rng.integers(0, BOS, 149)])
    parts = []
    for _ in range(20):
        parts += [np.concatenate([[BOS], rng.integers(0, BOS, 300)]), document]
    stream = np.concatenate(parts).astype(np.uint16)
    for start in range(301, 301 + 150 - 2 * WINDOW_TOKENS):
        found = find(stream[start : start + 65], stream, BOS)
        assert (found.documents, found.quarter) == (20, 20)
    assert find(stream[1:258], stream, BOS) == Repeats(1, 0, WINDOW_TOKENS, 1)


def test_lines_of_one_table_are_one_document() -> None:
    table = np.concatenate([[BOS], np.full(400, 7)])
    prose = np.concatenate([[BOS], np.arange(300) % BOS])
    stream = np.concatenate([prose, table, prose]).astype(np.uint16)
    assert find(stream[350:607], stream, BOS).documents == 1
    assert find(stream[1:258], stream, BOS).documents == 2


def test_what_does_not_stand_there_counts_nothing() -> None:
    nothing = find(array([1] * 64), array([BOS, *[2] * 200]), BOS)
    assert nothing == Repeats(0, 0, WINDOW_TOKENS, 0)
    assert find(array([1]), array([]), BOS).documents == 0
