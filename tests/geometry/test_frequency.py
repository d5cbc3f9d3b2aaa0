from __future__ import annotations

import math
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from andrea.geometry.vectors.measure import frequency

counts_of = st.lists(st.integers(0, 10**6), min_size=1, max_size=50)


@settings(max_examples=20, deadline=None)
@given(counts_of, st.integers(2, 10))
def test_bins_are_full_and_hold_what_their_borders_say(counts: list[int], base: int) -> None:
    found = frequency.bins(np.array(counts), base)
    assert found.sizes.min() > 0 and found.sizes.sum() == len(counts)
    assert (np.diff(found.lowest) > 0).all()
    low, high = found.lowest[found.member], found.highest[found.member]
    assert (low <= counts).all() and (counts <= high).all()
    assert all(h == 0 or h == base * lo - 1 for lo, h in zip(low, high, strict=True))


def test_labels_are_read_by_people() -> None:
    found = frequency.bins(np.array([0, 3, 10, 99, 100]))
    assert found.labels == ["0", "1-9", "10-99", "100-999"]
    assert found.member.tolist() == [0, 1, 2, 2, 3]
    assert frequency.bins(np.array([1, 2, 3]), 2).labels == ["1", "2-3"]


def test_a_word_is_as_frequent_as_its_tokens_in_the_geometric_mean() -> None:
    counts = np.array([4, 9, 0, 7])
    spelled = [np.array([3]), np.array([0, 1]), np.array([0, 2]), np.array([0, 0, 1])]
    found = frequency.word_counts(counts, spelled)
    np.testing.assert_allclose(found, [7, 6, 0, math.cbrt(4 * 4 * 9)], rtol=1e-14)
    assert frequency.bins(found, 2).labels[0] == "0"


def test_words_stand_after_a_space_and_case_counts() -> None:
    texts = ["The sea, the sea! don't x2 a_b Über The", " the (sea) sea"]
    assert frequency.count_words(texts) == Counter(
        {"sea": 3, "the": 2, "don't": 1, "Über": 1, "The": 1}
    )


def test_equal_words_go_by_alphabet() -> None:
    found = frequency.most_frequent({"b": 2, "a": 2, "c": 5, "d": 1}, 3)
    assert found == ["c", "a", "b"]
