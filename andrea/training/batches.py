"""From token streams to rows of a batch.

Sequence p of a stream is its tokens p T .. p T + T: T inputs and, one further, T targets. A
stream of n tokens has (n - 1) // T sequences, and every token but the first is a target once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Stream = NDArray[np.uint16]


def count(stream: Stream, context: int) -> int:
    """Sequences of `context` tokens in a stream."""
    return max(0, (len(stream) - 1) // context)


def fetch(
    streams: Sequence[Stream],
    source: NDArray[np.integer],
    position: NDArray[np.integer],
    context: int,
) -> tuple[Tensor, Tensor]:
    """Inputs and targets of the given sequences.

    Args:
        source: index of each row's stream, (B,).
        position: sequence inside it, (B,).
        context: T.

    Returns:
        Two int64 tensors (B, T) on the CPU.
    """
    rows = np.empty((len(source), context + 1), dtype=np.int64)
    for row, (stream, place) in enumerate(zip(source, position, strict=True)):
        start = int(place) * context
        rows[row] = streams[stream][start : start + context + 1]
    tokens = torch.from_numpy(rows)
    return tokens[:, :-1], tokens[:, 1:]
