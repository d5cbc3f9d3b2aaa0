"""Section `tokenizer`: the text that the alphabet is learned from, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from andrea.config.reading import Range


@dataclass(frozen=True)
class Tokenizer:
    """Weights are shares of bytes by source and need not sum to 1."""

    weights: Mapping[str, Annotated[float, Range(0)]]
