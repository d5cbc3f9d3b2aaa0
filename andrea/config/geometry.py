"""Section `geometry`: how closely vectors, heads, terrain and walk of a run are looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from andrea.config.reading import Range
from andrea.errors import UserError

Count = Annotated[int, Range(1)]
Several = Annotated[int, Range(2)]
FEWEST = 4  # words that a map can be made of


@dataclass(frozen=True)
class Geometry:
    """More of anything costs time, and changes no training."""

    words: tuple[str, ...]
    frequent_words: Annotated[int, Range(FEWEST)]
    word_tokens: Several
    map: Literal["pca", "tsne"]
    neighbours: Count
    components: Count
    pair_tokens: Count
    prompts: tuple[str, ...]
    prompt_tokens: Several
    head_rows: Count
    head_tokens: Several
    repeat_tokens: Count
    repeats: Several
    repeat_rows: Several
    batch_rows: Count
    batch_tokens: Several
    source_rows: Annotated[int, Range(0)]
    directions: Count
    noise_draws: Count
    slice_directions: Count
    slice_points: Annotated[int, Range(3)]
    slice_reach: Annotated[float, Range(0, above=True)]
    sharpness: tuple[Annotated[float, Range(0, above=True)], ...]
    hessian_products: Count
    plane_points: Annotated[int, Range(0)]
    plane_margin: Annotated[float, Range(0)]
    control: str | None
    bins: Count
    chance_points: Count
    vertices: Count
    triangles: tuple[tuple[str, ...], ...]

    def check(self, key: str) -> None:
        """Raise UserError where a value has no meaning."""
        for name in ("words", "prompts"):
            values = getattr(self, name)
            if not values:
                raise UserError(f"{key}.{name}: none is not allowed, at least one is needed")
            for place, value in enumerate(values):
                if not value.strip():
                    raise UserError(f"{key}.{name}[{place}]: {value!r} has no letter")
        if len(set(self.words)) < max(FEWEST, len(self.words)):
            raise UserError(f"{key}.words: must be {FEWEST} or more, and no word twice")
        if not self.sharpness:
            raise UserError(f"{key}.sharpness: none is not allowed, at least one is needed")
        for place, three in enumerate(self.triangles):
            if len(three) != 3 or len(set(three)) < 3:
                raise UserError(
                    f"{key}.triangles[{place}]: {', '.join(three)} is not allowed, must be three"
                    " different sources"
                )
