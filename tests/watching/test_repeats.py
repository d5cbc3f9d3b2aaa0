from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from andrea.watching import repeats
from andrea.watching.repeats import WINDOW_TOKENS, Repeats, find

Tokens = NDArray[np.uint16]
SMALL = st.lists(st.sampled_from([0, 1, 256, 257]), min_size=1, max_size=120)


def array(values: list[int]) -> Tokens:
    return np.array(values, dtype=np.uint16)


def naive(needle: Tokens, stream: Tokens) -> int:
    """Occurrences from left to right, each behind the one before."""
    count = place = 0
    while place + len(needle) <= len(stream):
        if np.array_equal(stream[place : place + len(needle)], needle):
            count, place = count + 1, place + len(needle)
        else:
            place += 1
    return count


@pytest.mark.parametrize("chunk", [1, 5, 64, repeats.CHUNK_TOKENS])
@given(values=SMALL, stream=SMALL)
def test_it_counts_as_a_naive_search_does(values: list[int], stream: list[int], chunk: int) -> None:
    """Ids such as 256 and 1 hold each other's bytes one byte apart: only whole tokens count."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "CHUNK_TOKENS", chunk)
        patch.setattr(repeats, "WINDOW_TOKENS", 3)
        found = find(array(values), array(stream))
    length = min(3, len(values))
    starts = range(0, len(values) - length + 1, length)
    counts = [naive(array(values[s : s + length]), array(stream)) for s in starts]
    assert found == Repeats(
        max(counts), starts[int(np.argmax(counts))], length,
        sum(count > 1 for count in counts) / len(counts),
    )  # fmt: skip


def test_a_repeated_document_is_found_however_sequences_cut_it() -> None:
    rng = np.random.default_rng(0)
    document = np.concatenate([[256], rng.integers(0, 2304, 149)])
    parts = []
    for _ in range(20):
        parts += [np.concatenate([[256], rng.integers(0, 2304, 300)]), document]
    stream = np.concatenate(parts).astype(np.uint16)
    for start in range(301, 301 + 150 - 2 * WINDOW_TOKENS):
        found = find(stream[start : start + 65], stream)
        assert (found.count, found.share) == (20, 1.0)
    assert find(stream[1:258], stream) == Repeats(1, 0, WINDOW_TOKENS, 0.0)
