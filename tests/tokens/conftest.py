"""A small corpus with morphemes, and a tokenizer learned from it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from andrea.config.text import Tokenizer as Settings
from andrea.tokens import learning
from andrea.tokens.tokenizer import Tokenizer, build

STEMS = (
    "walk talk jump play work look help call turn open learn paint clean start kick lift mark"
    " push pull rest sail toast visit wait yawn boil cook dream enter float gain hunt iron join"
).split()
ENDINGS = ["", "s", "ed", "ing", "er", "ers"]
SETTINGS = Settings(
    weights={"one": 1.0},
    damping=0.25,
    longest_word_bytes=32,
    longest_segment_bytes=16,
    least_count=2,
    candidates=8,
    shrink=0.75,
    piece_cost_nats=0.0,
    comparison_bytes=20_000,
)
SEGMENTS = 64


def documents(number: int, seed: int = 0) -> list[str]:
    """Documents of sixty words made of a stem and an ending."""
    rng = np.random.default_rng([seed, number])
    return [
        "> " + " ".join(rng.choice(STEMS) + rng.choice(ENDINGS) for _ in range(60)) + ".\n< yes"
        for _ in range(number)
    ]


def write_lines(path: Path, texts: Iterable[str]) -> Path:
    """Write documents as JSON Lines, gzipped if the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


@pytest.fixture(scope="session")
def corpus() -> Callable[[int, int], list[str]]:
    """`documents`."""
    return documents


@pytest.fixture(scope="session")
def write_corpus() -> Callable[[Path, Iterable[str]], Path]:
    """`write_lines`."""
    return write_lines


@pytest.fixture(scope="session")
def settings() -> Settings:
    """Settings for the small corpus."""
    return SETTINGS


@pytest.fixture(scope="session")
def tokenizer_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of 64 segments."""
    words = learning.mix({"one": learning.count(documents(200))}, {"one": 1.0})
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    build(learning.learn(words, SEGMENTS, SETTINGS)).save(str(path))
    return path


@pytest.fixture(scope="session")
def tokenizer(tokenizer_file: Path) -> Tokenizer:
    """The tokenizer of `tokenizer_file`."""
    return Tokenizer.load(tokenizer_file)
