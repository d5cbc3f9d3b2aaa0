"""A repository with a tokenizer and a checkpoint that nobody trained: it writes anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from andrea.common import paths
from andrea.common.files import sha256
from andrea.config import tree
from andrea.config.tree import Config
from andrea.tokens.learning import Alphabet
from andrea.tokens.tokenizer import build
from andrea.tracking import registry
from andrea.training import checkpoint, state

Params = dict[str, Any]


def make(folder: Path, build_repository: Callable[[Path], Params]) -> Config:
    """Write all of it, `dvc.lock` with the checkpoint's hash too; returns the configuration."""
    config = tree.read(build_repository(folder))
    scale = config.scale
    segments = [bytes([97 + n % 26, 97 + n // 26]) for n in range(scale.segments)]
    scores = np.array([-9.0] * 256 + [-2.0] * len(segments))
    tokenizer = folder / paths.TOKENIZER
    tokenizer.parent.mkdir(parents=True)
    build(Alphabet(segments, scores)).save(str(tokenizer))
    training = state.new(scale, config.optimizer, 3, 7, "cpu")
    with torch.no_grad():
        generator = torch.Generator().manual_seed(4)
        training.model.head.weight.normal_(0, 0.5, generator=generator)
    place = folder / paths.CHECKPOINTS / "polish"
    place.mkdir(parents=True)
    facts = {
        "scale": asdict(scale), "regime": "polish", "sources": list(config.sources),
        "tokenizer": sha256(tokenizer), "train": {},
    }  # fmt: skip
    checkpoint.save(place / checkpoint.FILE, training, facts)
    (folder / "dvc.lock").write_text(
        "stages:\n  polish:\n    outs:\n    - path: data/checkpoints/polish\n"
        f"      md5: {registry.hash_of(place)}\n"
    )
    return config
