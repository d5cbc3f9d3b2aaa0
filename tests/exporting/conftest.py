"""A small network that looks trained, its tokenizer, and the folder that an export makes."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
import torch

from andrea.common.files import sha256
from andrea.config.training import Optimizer, Scale
from andrea.exporting import folder, trained
from andrea.tokens.tokenizer import Alphabet, build
from andrea.training import checkpoint, state

SCALE = Scale(
    segments=6, d_model=24, n_heads=3, n_layers=2, context=16, micro_batch=2, grad_accumulation=1,
    steps=9, bigram_init=0, lr=0.01, log_every=1,
)  # fmt: skip
SEGMENTS = [b"the", b" river", "é".encode(), b"> ", b"\n< ", "é".encode()[:1] + b"x"]


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`checkpoint.safetensors`, all of whose weights are drawn, and `tokenizer.json`."""
    torch.set_num_threads(1)
    here = tmp_path_factory.mktemp("files")
    scores = np.concatenate([np.full(256, -9.0), np.linspace(-3, -5, len(SEGMENTS))])
    build(Alphabet(SEGMENTS, scores)).save(str(here / "tokenizer.json"))
    optimizer = Optimizer(0.9, 0.999, 1e-8, 0.1, 1.0, 0.1, 0.1)
    training = state.new(SCALE, optimizer, 3, 5, "cpu")
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for weights in training.model.parameters():
            if not weights.any():
                weights.normal_(0, 0.3, generator=generator)
    training.step = 7
    facts = {"scale": asdict(SCALE), "tokenizer": sha256(here / "tokenizer.json")}
    checkpoint.save(here / checkpoint.FILE, training, facts)
    return here


@pytest.fixture(scope="session")
def source(files: Path) -> trained.Trained:
    """Both, read."""
    return trained.read(files / checkpoint.FILE, files / "tokenizer.json")


@pytest.fixture(scope="session")
def made(source: trained.Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported folder, to be read only."""
    path = tmp_path_factory.mktemp("made") / "model"
    folder.write(path, source.model, source.tokenizer, "# A card\n")
    return path


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """An exported folder, to be spoiled."""
    return Path(shutil.copytree(made, tmp_path / "model"))


@pytest.fixture(scope="module")
def offline() -> Iterator[None]:
    """No connection can be made."""

    def refuse(*_: object) -> NoReturn:
        raise AssertionError("a connection")

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setattr(socket.socket, "connect", refuse)
        yield
