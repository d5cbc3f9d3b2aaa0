"""Section `tokenizer`: the text that the alphabet is learned from, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from andrea.common.errors import UserError
from andrea.config.reading import Range, leaf, section

Weights = Mapping[str, Annotated[float, Range(0)]]


@dataclass(frozen=True)
class Tokenizer:
    """How segments are found (see `andrea.tokens.harris` and `andrea.tokens.unigram`).

    Attributes:
        weights: shares of bytes by source; they need not sum to 1, and a source that is not named
            has their mean.
        damping: exponent of a word's count in the tries; 0 counts word types, 1 occurrences.
        candidates: candidates per segment before pruning.
        shrink: share of the candidates that a pruning round keeps.
        piece_cost_nats: added to every piece's cost, so that paths have fewer pieces.
        comparison_bytes: size of the sample that Harris, BPE and Unigram are compared on.
    """

    weights: Weights
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
    return replace(section(params, "tokenizer", Tokenizer), weights=weights(params, sources))


def weights(params: Mapping[str, Any], sources: Sequence[str]) -> dict[str, float]:
    """A weight for every source; one that is not named has the mean of the others.

    Raises:
        UserError: a weight is not allowed, or of no source.
    """
    named: Mapping[str, float] = leaf(params, "tokenizer.weights", Weights)
    for source in named:
        if source not in sources:
            raise UserError(f"tokenizer.weights.{source}: unknown source")
    mean = sum(named.values()) / len(named) if named else 1.0
    return {name: named.get(name, mean) for name in sources}
