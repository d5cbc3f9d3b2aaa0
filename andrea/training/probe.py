"""Loss on each source's probe: text that is neither trained on nor reported."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from andrea.mixture.simplex import Vector
from andrea.model.gpt import GPT
from andrea.training import batches
from andrea.training.run import Run


@dataclass(frozen=True, eq=False)
class Reading:
    """Loss by source, each (k,); NaN for a source that was not read."""

    nats: Vector  # per token
    bits: Vector  # per byte


def read(model: GPT, run: Run, active: NDArray[np.bool_]) -> Reading:
    """Measure the network on the first `probe_rows` sequences of each source's probe.

    Args:
        run: a probe of its that is shorter than one sequence is not read.
        active: sources to read, (k,).
    """
    context, k, rows = model.context, len(run.probe), run.scale.micro_batch
    taken = [
        min(run.bandit.probe_rows, batches.count(stream, context)) if wanted else 0
        for stream, wanted in zip(run.probe, active, strict=True)
    ]
    source = np.repeat(np.arange(k), taken)
    position = np.concatenate([np.arange(n) for n in taken])
    nats, n_bytes = np.zeros(k), np.zeros(k)
    for first in range(0, source.size, rows):
        part = slice(first, first + rows)
        inputs, targets = batches.fetch(run.probe, source[part], position[part], context)
        with run.machine.autocast():
            losses = model.nats(inputs.to(run.machine.device), targets.to(run.machine.device))
        nats += np.bincount(source[part], row_sums(losses), k)
        n_bytes += np.bincount(source[part], run.byte_lengths[targets.numpy()].sum(1), k)
    tokens = np.where(nats > 0, np.array(taken) * context, np.nan)
    bits = nats / (math.log(2) * np.where(n_bytes > 0, n_bytes, np.nan))
    return Reading(nats / tokens, bits)


def row_sums(losses_BT: torch.Tensor) -> Vector:
    """Sums in float64, (B,), taken on the CPU: not every device has that type."""
    sums: Vector = losses_BT.cpu().double().sum(1).numpy()
    return sums
