"""Section `tokenizer`: the text that the alphabet is learned from, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from andrea.config.reading import Range
from andrea.errors import UserError


@dataclass(frozen=True)
class Tokenizer:
    """How segments are found (see `andrea.text.harris` and `andrea.text.unigram`).

    Attributes:
        weights: shares of bytes by source, of each one; they need not sum to 1.
        damping: exponent of a word's count in the tries; 0 counts word types, 1 occurrences.
        candidates: candidates per segment before pruning.
        shrink: share of the candidates that a pruning round keeps.
        piece_cost_nats: added to every piece's cost, so that paths have fewer pieces.
        comparison_bytes: size of the sample that Harris, BPE and Unigram are compared on.
    """

    weights: Mapping[str, Annotated[float, Range(0)]]
    damping: Annotated[float, Range(0, 1)]
    longest_word_bytes: Annotated[int, Range(2, 255)]
    longest_segment_bytes: Annotated[int, Range(2, 255)]
    least_count: Annotated[float, Range(0)]
    candidates: Annotated[int, Range(1)]
    shrink: Annotated[float, Range(0.1, 0.99)]
    piece_cost_nats: Annotated[float, Range(0)]
    comparison_bytes: Annotated[int, Range(1)]

    def check(self, key: str) -> None:
        """Raise UserError for weights that leave no text."""
        if not any(self.weights.values()):
            raise UserError(f"{key}.weights: a source needs a weight above 0, found none")
