from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.errors import UserError
from andrea.config.text import Tokenizer as Settings
from andrea.corpus.documents import digest
from andrea.tokens import comparison
from andrea.tokens.tokenizer import Tokenizer

Corpus = Callable[[int, int], list[str]]


def test_a_sample_is_a_pure_function_of_the_set_and_fills_its_bytes(corpus: Corpus) -> None:
    texts = [f"{n} {text}" for n, text in enumerate(corpus(100, 0))]
    whole = sum(map(len, texts))
    samples = []
    for order in (texts, texts[::-1]):
        sample = comparison.Sample(whole / 4)
        assert list(sample.passing(order)) == order
        samples.append(sample.documents())
    assert samples[0] == samples[1]
    assert set(samples[0]) < set(texts)
    assert whole / 5 < sum(map(len, samples[0])) <= whole / 4


@given(st.lists(st.integers(0, 40), max_size=30), st.integers(0, 100), st.randoms())
def test_a_sample_does_not_depend_on_order_or_repeats(
    sizes: list[int], limit: int, random: Random
) -> None:
    """A document that is too large ends the sample wherever it stands in the stream."""
    texts = [f"{n:03d}" + "x" * size for n, size in enumerate(sizes)]
    expected: list[str] = []
    for text in sorted(texts, key=digest):
        if sum(map(len, expected)) + len(text) > limit:
            break
        expected.append(text)
    for _ in range(3):
        stream = [*texts, *random.choices(texts, k=5)] if texts else []
        random.shuffle(stream)
        sample = comparison.Sample(limit)
        assert list(sample.passing(stream)) == stream
        assert sample.documents() == expected


@pytest.mark.parametrize("texts", [[], [""], ["a few words are not enough"]])
def test_a_sample_that_is_too_small_is_refused(texts: list[str], settings: Settings) -> None:
    with pytest.raises(
        UserError, match=r"^tokenizer\.comparison_bytes: 20000 give a sample of \d+"
    ):
        comparison.compare(texts, dict, 64, settings)


def test_sources_are_sampled_by_their_weights(settings: Settings) -> None:
    weights = dict(settings.weights) | {"two": 3.0, "three": 0.0}
    by_name = comparison.samples(
        ["one", "two", "three"], Settings(**(vars(settings) | {"weights": weights}))
    )
    sizes = {}
    for name, sample in by_name.items():
        assert sum(1 for _ in sample.passing(f"{n:0100d}" for n in range(1000))) == 1000
        sizes[name] = sum(map(len, sample.documents()))
    assert sizes == {"one": 5000, "two": 15000, "three": 0}


def test_figures_of_a_known_text(tokenizer: Tokenizer) -> None:
    documents = {"one": ["a b c d"], "two": ["zz\n"]}
    used = {s: comparison.use(tokenizer.library, texts) for s, texts in documents.items()}
    measured = comparison.spelling(tokenizer.library, used, {"one": 1.0, "two": 1.0})
    tokens = {s: len(tokenizer.encode(texts[0])) for s, texts in documents.items()}
    per_byte = tokens["one"] / 7 / 2 + tokens["two"] / 3 / 2
    assert measured["bytes_per_token"] == pytest.approx(1 / per_byte)
    assert measured["tokens_per_word"] == pytest.approx(per_byte / (4 / 7 / 2 + 1 / 3 / 2))
    assert measured["byte_share"] == 1.0
    assert measured["slots_used"] == 0.0


def test_all_three_are_compared_at_one_size_and_without_chance(
    corpus: Corpus, settings: Settings
) -> None:
    def held_out() -> dict[str, Iterable[str]]:
        return {"one": corpus(20, 5), "two": ["other text"]}

    report = comparison.compare(corpus(100, 3), held_out, 64, settings)
    again = comparison.compare(corpus(100, 3), held_out, 64, settings)
    assert json.dumps(report) == json.dumps(again)
    for name in ("harris", "bpe", "unigram"):
        assert set(report[name]["bytes_per_token_by_source"]) == {"one", "two"}
        assert report[name]["bytes_per_token"] == report[name]["bytes_per_token_by_source"]["one"]
        assert 1 < report[name]["bytes_per_token"] < 8
        assert 0 < report[name]["slots_used"] <= 1
    assert report["harris"]["bytes_per_token"] > 0.95 * report["bpe"]["bytes_per_token"]


def test_rivals_lose_nothing(corpus: Corpus, tmp_path: Path) -> None:
    texts = corpus(100, 3)
    for train in (comparison.bpe, comparison.unigram):
        rival = train(texts, 320)
        assert rival.get_vocab_size() == 320
        assert rival.decode(rival.encode("walking\n  é 👩").ids) == "walking\n  é 👩"
