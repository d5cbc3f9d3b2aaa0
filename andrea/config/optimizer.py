"""Section `optimizer`: AdamW and the learning rate's course."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from andrea.config.reading import Range

Share = Annotated[float, Range(0, 1)]
Decay = Annotated[float, Range(0, 1, below=True)]


@dataclass(frozen=True)
class Optimizer:
    """Rates are shares: `warmup` of the run's steps, `final_rate` of the peak rate."""

    beta1: Decay
    beta2: Decay
    epsilon: Annotated[float, Range(0, above=True)]
    weight_decay: Annotated[float, Range(0)]
    clip: Annotated[float, Range(0)]
    warmup: Share
    final_rate: Share
