"""Section `scales.<scale>`: how large the model and the run are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from andrea.common.errors import UserError
from andrea.config.reading import Range, convert, leaf, section

Count = Annotated[int, Range(1)]
BYTES_AND_BOS = 257
Segments = Annotated[int, Range(1, 2**16 - BYTES_AND_BOS)]
LEAST_HEAD_START_WIDTH = 8  # a quarter of the features tells positions, and takes at least two


@dataclass(frozen=True)
class Scale:
    """One scale. Sizes are those of ANDREA's network: untied head, no biases."""

    segments: Segments
    width: Count
    heads: Count
    layers: Count
    context: Annotated[int, Range(2)]
    rows: Count
    accumulation: Count
    steps: Count
    head_start: Annotated[int, Range(0)]
    peak_rate: Annotated[float, Range(0, 1, above=True)]
    log_every: Count
    snapshots: Annotated[int, Range(0, 100)] = 0

    def check(self, key: str) -> None:
        """Raise UserError where two values do not fit together."""
        if self.width % self.heads:
            raise UserError(f"{key}.width: {self.width} is not divisible by {self.heads} heads")
        least = max(LEAST_HEAD_START_WIDTH, 2 * self.heads)
        if self.head_start > 0 and self.width < least:
            raise UserError(
                f"{key}.width: {self.width} with {self.heads} heads is too narrow for a head start;"
                f" {least} or more is needed, or {key}.head_start 0"
            )

    @property
    def vocabulary(self) -> int:
        """Token ids: 256 bytes, BOS, and the segments."""
        return BYTES_AND_BOS + self.segments

    @property
    def parameters(self) -> int:
        """Weights of the network, `12 d^2 L + 2 V d + T d`."""
        d, vocabulary = self.width, self.vocabulary
        return 12 * d * d * self.layers + 2 * vocabulary * d + self.context * d

    @property
    def step_tokens(self) -> int:
        """Tokens that one optimiser step reads."""
        return self.rows * self.accumulation * self.context


def active(params: Mapping[str, Any]) -> Scale:
    """The scale that `scale` names.

    Raises:
        UserError: there is no such scale, or it is wrong.
    """
    return section(params, f"scales.{active_name(params)}", Scale)


def active_segments(params: Mapping[str, Any]) -> int:
    """Segments of the active scale: all that the tokenizer takes from it."""
    return int(leaf(params, f"scales.{active_name(params)}.segments", Segments))


def active_name(params: Mapping[str, Any]) -> str:
    """Name of the active scale, known to exist."""
    name = convert(params.get("scale"), str, "scale")
    known = params.get("scales")
    if not isinstance(known, Mapping):
        raise UserError(f"scales: {known!r} is not a section")
    if name not in known:
        raise UserError(f"scale: {name!r} is not one of {', '.join(known)}")
    return str(name)
