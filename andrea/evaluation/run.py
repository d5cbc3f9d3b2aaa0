"""One checkpoint, measured: bits per byte of held-out text, recitation, samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from andrea.common.files import sha256
from andrea.common.seeds import Purpose
from andrea.config.evaluation import Evaluate
from andrea.evaluation import memorization
from andrea.evaluation.bits_per_byte import score
from andrea.evaluation.memorization import Memorization
from andrea.evaluation.tables import prompts
from andrea.mixture.sampler import permuted
from andrea.model.generate import generate
from andrea.model.gpt import GPT
from andrea.tokens.shards import Shard
from andrea.tokens.tokenizer import Tokens
from andrea.training import batches, checkpoint
from andrea.training.machine import Machine

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Texts:
    """What a checkpoint is measured on.

    Attributes:
        ood: out-of-domain tokens, each document after its BOS.
        byte_lengths: of each id, (V,).
    """

    shards: Mapping[str, Shard]
    ood: Tokens
    byte_lengths: Integers

    @property
    def held_out(self) -> dict[str, Tokens]:
        """Tokens that no training has seen, by source, and those of `ood`."""
        return {**{name: shard.val for name, shard in self.shards.items()}, "ood": self.ood}

    def prompts(self, cfg: Evaluate) -> Integers:
        """How the first held-out documents of each source begin, (sources * samples, P)."""
        length, count = cfg.sample_prompt_tokens, cfg.samples
        return np.concatenate([prompts(one.val, length, count) for one in self.shards.values()])


@dataclass(frozen=True)
class Measured:
    """What one checkpoint can do; `samples` are the ids it adds to each prompt, (prompts, T)."""

    sha256: str
    bits_per_byte: dict[str, float]
    recited: dict[str, Memorization]
    samples: Integers


def measure(
    file: Path,
    model: GPT,
    texts: Texts,
    cfg: Evaluate,
    seed: int,
    on: Machine,
    tell: Callable[[str], None],
) -> Measured:
    """Load a checkpoint's weights into `model` and measure it.

    Args:
        file: the checkpoint, in a folder of its regime.
        tell: is given what was done: one line for each held-out text, and one for the rest.
    """
    checkpoint.load_weights(file, model)
    regime = file.parent.name
    bits = {}
    for name, tokens in texts.held_out.items():
        bits[name] = score(model, tokens, texts.byte_lengths, cfg.rows, on)
        tell(f"{regime} {name} {bits[name]:.3f} bits per byte")
    # What training has read of a source is the beginning of its order: how far it came, the
    # checkpoint says.
    cursors = checkpoint.read_note(file)["state"]["sampler"]["cursors"]
    recited = {}
    for index, (name, shard) in enumerate(texts.shards.items()):
        size = batches.count(shard.train, model.context)
        read = read_sequences(seed, index, cursors[index], size)
        recited[name] = memorization.measure(
            model, shard.train, read, shard.val,
            cfg.memorization_prompts, (seed, index), cfg.rows, on,
        )  # fmt: skip
    tell(f"{regime} passages recited")
    with on.autocast():
        samples = generate(
            model, texts.prompts(cfg), cfg.sample_tokens, cfg.sample_temperature,
            cfg.sample_top_k, (seed, Purpose.SAMPLE_TEXT),
        )  # fmt: skip
    return Measured(sha256(file), bits, recited, samples)


def read_sequences(seed: int, source: int, given: int, size: int) -> Integers:
    """Sequences that training has given of the `size` of a source, each once.

    Args:
        given: sequences so far, over all epochs.
    """
    ranks = np.arange(min(given, size))
    return permuted(seed, source, 0, ranks, size) if given else ranks
