"""Loss on each source's probe: text that is neither trained on nor reported."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from andrea.mixture.simplex import Vector
from andrea.model.gpt import GPT
from andrea.training import batches
from andrea.training.batches import Stream
from andrea.training.machine import Machine


@dataclass(frozen=True, eq=False)
class Reading:
    """Loss by source, each (k,); NaN for a source that was not read.

    Attributes:
        nats: per token.
        bits: per byte.
    """

    nats: Vector
    bits: Vector


def read(
    model: GPT,
    probe: Sequence[Stream],
    active: NDArray[np.bool_],
    probe_rows: int,
    rows: int,
    byte_lengths: NDArray[np.int64],
    machine: Machine,
) -> Reading:
    """Measure the network on the first sequences of each source's probe.

    Args:
        model: it is left as it is.
        probe: token stream of each source.
        active: sources to read, (k,).
        probe_rows: sequences of each; a probe that is shorter than one is not read.
        rows: sequences per forward pass.
        byte_lengths: bytes per token id, (V,).
        machine: where the model stands.
    """
    context, k = model.context, len(probe)
    taken = [
        min(probe_rows, batches.count(stream, context)) if wanted else 0
        for stream, wanted in zip(probe, active, strict=True)
    ]
    source = np.repeat(np.arange(k), taken)
    position = np.concatenate([np.arange(n) for n in taken])
    nats, n_bytes = np.zeros(k), np.zeros(k)
    for first in range(0, source.size, rows):
        part = slice(first, first + rows)
        inputs, targets = batches.fetch(probe, source[part], position[part], context)
        with machine.autocast():
            losses = model.nats(inputs.to(machine.device), targets.to(machine.device))
        nats += np.bincount(source[part], row_sums(losses), k)
        n_bytes += np.bincount(source[part], byte_lengths[targets.numpy()].sum(1), k)
    tokens = np.where(nats > 0, np.array(taken) * context, np.nan)
    bits = nats / (math.log(2) * np.where(n_bytes > 0, n_bytes, np.nan))
    return Reading(nats / tokens, bits)


def row_sums(losses_BT: torch.Tensor) -> Vector:
    """Sums in float64, (B,), taken on the CPU: not every device has that type."""
    sums: Vector = losses_BT.cpu().double().sum(1).numpy()
    return sums
