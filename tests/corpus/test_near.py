"""Near-duplicates against sets of word tuples, and what they cost."""

from __future__ import annotations

import random
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.corpus import near
from andrea.corpus.splits import digest

VOCABULARY = [f"w{number}" for number in range(400)]


def sentence(rng: random.Random, words: int) -> list[str]:
    return rng.choices(VOCABULARY, k=words)


def changed(rng: random.Random, words: list[str], changes: int) -> list[str]:
    """Some of its words replaced."""
    new = list(words)
    for place in rng.sample(range(len(words)), changes):
        new[place] = "new" + rng.choice(VOCABULARY)
    return new


def jaccard(first: list[str], second: list[str]) -> float:
    """Over sets of tuples of words, without a hash."""

    def runs(words: list[str]) -> set[tuple[str, ...]]:
        return {tuple(words[n : n + 5]) for n in range(max(len(words) - 4, 1))} if words else set()

    a, b = runs(first), runs(second)
    return len(a & b) / len(a | b) if a | b else 0.0


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8, 1.0])
def test_it_finds_what_the_definition_finds(threshold: float) -> None:
    """Of 40 held-out documents and 300 that are changed in no to twelve words."""
    rng = random.Random(7)
    val = [sentence(rng, rng.randint(1, 120)) for _ in range(40)]
    train = []
    for _ in range(300):
        words = rng.choice(val)
        train.append(changed(rng, words, rng.randint(0, min(12, len(words)))))
    expected = {
        digest(" ".join(words))
        for words in train
        if any(jaccard(words, held) >= threshold for held in val)
    }
    found = near.near(map(" ".join, train), map(" ".join, val), threshold)
    assert found == expected
    assert 0 < len(found) < len({digest(" ".join(words)) for words in train})


def test_places_and_similarities_are_those_of_the_held_out_documents() -> None:
    rng = random.Random(8)
    first, second = sentence(rng, 60), sentence(rng, 60)
    held_out = near.signatures(map(" ".join, [first, second, second[:-1]]), 0.8)
    assert near.matches(" ".join(second), held_out) == [
        near.Match(1, 1.0), near.Match(2, pytest.approx(55 / 56))
    ]  # fmt: skip


def test_case_and_punctuation_make_no_difference() -> None:
    text = "It was a cold morning, when the ÉTUDE began; nobody came."
    other = "it was a cold MORNING when the étude began. (Nobody came)"
    assert near.near([other], [text], 1.0) == {digest(other)}


def test_short_and_empty_documents() -> None:
    val = ["", "fix typo", "one two three four five"]
    train = ["", "...", "Fix typo.", "fix", "typo fix", "one two three four", "five"]
    assert near.near(train, val, 0.5) == {digest("Fix typo.")}
    assert near.near(train, [], 0.5) == frozenset()
    assert near.near([], val, 0.5) == frozenset()
    assert len(near.shingles("")) == 0
    assert len(near.shingles("one two three four")) == 1
    assert len(near.shingles("one two three four five six")) == 2


@given(st.text(), st.text())
def test_any_text_is_near_to_itself_alone(first: str, second: str) -> None:
    """Unless it has no word; and near is symmetric."""
    a, b = near.shingles(first), near.shingles(second)
    assert near.similarity(a, a) == (1.0 if len(a) else 0.0)
    assert near.similarity(a, b) == near.similarity(b, a)
    assert np.array_equal(a, np.unique(a))


def test_a_document_without_blanks_is_one_word() -> None:
    text = "春はあけぼの" * 500
    assert near.near([text], [text], 0.8) == {digest(text)}
    assert near.near([text + "夏"], [text], 0.8) == frozenset()


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 0.99, 1.0])
def test_bands_miss_almost_no_pair_at_the_threshold(threshold: float) -> None:
    bands, rows = near.banding(threshold)
    assert bands > 1
    assert bands * rows <= near.PERMUTATIONS
    assert (1 - threshold**rows) ** bands <= near.MISSED
    assert rows == 64 or (1 - threshold ** (rows + 1)) ** (128 // (rows + 1)) > near.MISSED


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.1, float("nan")])
def test_a_threshold_outside_its_range_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="is not above 0 and at most 1"):
        near.near(["a"], ["a"], threshold)


def test_training_text_streams() -> None:
    """A megabyte of it passes through, of which no more than one document is kept."""
    rng = random.Random(9)
    held = " ".join(sentence(rng, 200))
    held_out = near.signatures([held])

    def train() -> Iterator[str]:
        for number in range(80):
            yield f"{held} {number}" if number % 2 else f"{held.replace('w', 'x')} " * 30

    assert near.matches(held, held_out)  # loads the library
    tracemalloc.start()
    found = sum(1 for document in train() if near.matches(document, held_out))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == 40
    assert peak < 4e6


def test_the_library_is_loaded_only_for_a_document_that_may_be_near() -> None:
    """Its import takes longer than reading a megabyte."""
    code = (
        "import sys; from andrea.corpus import near; held = near.signatures(['a b c d e f g']);"
        "near.matches('a b c d e x y z u v w', held); print('datasketch' in sys.modules);"
        "near.matches('a b c d e f g', held); print('datasketch' in sys.modules)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    ).stdout  # fmt: skip
    assert printed.split() == ["False", "True"]


def test_processes_agree() -> None:
    """Hashes of text differ between processes, signatures do not."""
    code = (
        "from andrea.corpus import near; held = near.signatures(['a b c d e f g', 'h i j k l']);"
        "print(held.known.tolist(), near._signed(held._blank, held.known).hashvalues.tolist())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, text=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(printed) == 1
