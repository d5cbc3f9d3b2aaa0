from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from andrea.evaluation import ngram

BOS, VOCABULARY, ORDER = 3, 6, 4
PREDICTED = [token for token in range(VOCABULARY) if token != BOS]

Document = list[int]
Probability = Callable[[int, tuple[int, ...]], float]

documents = st.lists(st.lists(st.sampled_from(PREDICTED), max_size=12), max_size=8)


def stream_of(texts: Sequence[Document]) -> NDArray[np.uint16]:
    return np.array([token for text in texts for token in (BOS, *text)], np.uint16)


def counted(texts: Sequence[Document], length: int) -> Counter[tuple[int, ...]]:
    """Occurrences of the n-grams of one length, document by document."""
    found: Counter[tuple[int, ...]] = Counter()
    for text in texts:
        padded = (BOS, *text)
        for end in range(1, len(padded)):
            if end + 1 >= length:
                found[padded[end + 1 - length : end + 1]] += 1
    return found


def left_neighbours(texts: Sequence[Document], length: int) -> Counter[tuple[int, ...]]:
    """Distinct left neighbours; occurrences for an n-gram at the start of a document."""
    found = Counter(gram[1:] for gram in counted(texts, length + 1))
    for gram, times in counted(texts, length).items():
        if gram[0] == BOS:
            found[gram] = times
    return found


def plain_witten_bell(texts: Sequence[Document], order: int) -> Probability:
    levels = [counted(texts, length) for length in range(1, order + 1)]

    def probability(word: int, context: tuple[int, ...]) -> float:
        result = 1 / len(PREDICTED)
        for length in range(min(order - 1, len(context)) + 1):
            start = context[len(context) - length :]
            after = {g: c for g, c in levels[length].items() if g[:-1] == start}
            if after:
                total, kinds = sum(after.values()), len(after)
                result = (after.get((*start, word), 0) + kinds * result) / (total + kinds)
        return result

    return probability


def plain_discounts(level: Counter[tuple[int, ...]]) -> list[float]:
    times = Counter(level.values())
    y = times[1] / (times[1] + 2 * times[2]) if times[1] else 0.0
    result = [0.0]
    for n in (1, 2, 3):
        raw = n - (n + 1) * y * times[n + 1] / max(1, times[n])
        result.append(max(raw, result[-1]))
    return result


def plain_kneser_ney(texts: Sequence[Document], order: int) -> Probability:
    levels = [left_neighbours(texts, length) for length in range(1, order)]
    levels.append(counted(texts, order))
    discounts = [plain_discounts(level) for level in levels]

    def probability(word: int, context: tuple[int, ...]) -> float:
        result = 1 / len(PREDICTED)
        for length in range(min(order - 1, len(context)) + 1):
            start = context[len(context) - length :]
            after = {g: c for g, c in levels[length].items() if g[:-1] == start}
            if after:
                cut = {g: discounts[length][min(c, 3)] for g, c in after.items()}
                own = after.get((*start, word), 0) - cut.get((*start, word), 0.0)
                result = (own + sum(cut.values()) * result) / sum(after.values())
        return result

    return probability


MODELS = [(ngram.witten_bell, plain_witten_bell), (ngram.kneser_ney, plain_kneser_ney)]


def fast(
    smooth: Callable[[Sequence[ngram.Grams]], list[ngram.Interpolation]],
    train: Sequence[Document],
    val: Sequence[Document],
    order: int,
) -> NDArray[np.float64]:
    tables = ngram.count(stream_of(train), VOCABULARY, BOS, ORDER)
    places = ngram.locate(stream_of(val), tables, VOCABULARY, BOS)
    return ngram.probabilities(smooth(tables[:order]), places, VOCABULARY)


@given(texts=documents)
def test_counts_are_those_of_a_dictionary(texts: list[Document]) -> None:
    tables = ngram.count(stream_of(texts), VOCABULARY, BOS, ORDER)
    grams: list[tuple[int, ...]] = [()]
    for length, table in enumerate(tables, start=1):
        contexts, tokens = np.divmod(table.keys, VOCABULARY)
        assert np.array_equal(contexts, table.context)
        assert len(grams) == table.contexts
        grams = [(*grams[c], int(t)) for c, t in zip(contexts, tokens, strict=True)]
        assert grams == sorted(set(grams))
        continuations = (left_neighbours if length < ORDER else counted)(texts, length)
        counts = counted(texts, length)
        assert table.counts.tolist() == [counts[gram] for gram in grams]
        assert table.continuations.tolist() == [continuations[gram] for gram in grams]


@pytest.mark.parametrize("smooth, plain", MODELS)
@given(train=documents, val=documents, order=st.integers(1, ORDER))
def test_probabilities_equal_a_plain_second_implementation(
    smooth: Callable[[Sequence[ngram.Grams]], list[ngram.Interpolation]],
    plain: Callable[[Sequence[Document], int], Probability],
    train: list[Document],
    val: list[Document],
    order: int,
) -> None:
    slow = plain(train, order)
    expected = [slow(word, (BOS, *text[:place])) for text in val for place, word in enumerate(text)]
    assert fast(smooth, train, val, order) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("smooth", [smooth for smooth, _ in MODELS])
@given(train=documents, context=st.lists(st.sampled_from(PREDICTED), max_size=6))
def test_probabilities_are_positive_and_sum_to_one(
    smooth: Callable[[Sequence[ngram.Grams]], list[ngram.Interpolation]],
    train: list[Document],
    context: Document,
) -> None:
    every = [[*context, word] for word in PREDICTED]
    last = fast(smooth, train, every, ORDER)[len(context) :: len(context) + 1]
    assert last.min() > 0
    assert last.sum() == pytest.approx(1, rel=1e-12)


def test_witten_bell_of_a_hand_computed_example() -> None:
    tables = ngram.count(stream_of([[0, 1], [0, 2]]), VOCABULARY, BOS, 2)
    places = ngram.locate(stream_of([[0, 1]]), tables, VOCABULARY, BOS)
    unigram_0, unigram_1 = (2 + 3 / 5) / 7, (1 + 3 / 5) / 7
    assert ngram.probabilities(ngram.witten_bell(tables), places, VOCABULARY) == pytest.approx(
        [(2 + unigram_0) / 3, (1 + 2 * unigram_1) / 4]
    )


@given(train=documents, val=documents)
def test_contexts_end_at_the_borders_of_documents(
    train: list[Document], val: list[Document]
) -> None:
    together = fast(ngram.kneser_ney, train, val, ORDER)
    alone = [fast(ngram.kneser_ney, train[::-1], [text], ORDER) for text in val]
    assert np.array_equal(together, np.concatenate([np.zeros(0), *alone]))


@given(
    keys=st.lists(st.integers(0, 5), max_size=30),
    scale=st.sampled_from([1, 2**40, 2**60]),
)
def test_sorting_in_one_word_and_in_two_agree(keys: list[int], scale: int) -> None:
    ordered, positions = ngram._sorted(np.array(keys, np.int64) * scale)
    assert positions.tolist() == sorted(range(len(keys)), key=lambda place: keys[place])
    assert ordered.tolist() == [keys[place] * scale for place in positions]


@pytest.mark.parametrize("stream", [[0, BOS, 1], [BOS, VOCABULARY], [BOS, -1]])
def test_a_stream_that_is_none_is_refused(stream: list[int]) -> None:
    with pytest.raises(ValueError, match=r"begins with BOS \(3\) and has tokens from 0 to 5"):
        ngram.count(np.array(stream), VOCABULARY, BOS, 2)
