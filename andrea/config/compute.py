"""Section `compute`: on what and in which arithmetic the network runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from andrea.config.reading import Range


@dataclass(frozen=True)
class Compute:
    """`auto` takes the best that the machine has; anything else is taken or refused."""

    device: Literal["auto", "cpu", "cuda", "mps"]
    dtype: Literal["auto", "fp32", "bf16"]
    compile: bool
    threads: Literal["auto"] | Annotated[int, Range(1)]
