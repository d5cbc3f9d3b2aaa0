"""Section `tokenizer`: the text that the alphabet is learned from, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from andrea.config.reading import Range, section
from andrea.errors import UserError


@dataclass(frozen=True)
class Tokenizer:
    """How segments are found (see `andrea.text.harris` and `andrea.text.unigram`).

    Attributes:
        weights: shares of bytes by source; they need not sum to 1, and a source that is not named
            has their mean.
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
        if self.weights and not any(self.weights.values()):
            raise UserError(f"{key}.weights: a source needs a weight above 0, found none")


def read(params: Mapping[str, Any], sources: Sequence[str]) -> Tokenizer:
    """The section, with a weight for every source.

    Raises:
        UserError: a value is not allowed, or a weight is of no source.
    """
    found = section(params, "tokenizer", Tokenizer)
    for source in found.weights:
        if source not in sources:
            raise UserError(f"tokenizer.weights.{source}: unknown source")
    mean = sum(found.weights.values()) / len(found.weights) if found.weights else 1.0
    return replace(found, weights={name: found.weights.get(name, mean) for name in sources})
