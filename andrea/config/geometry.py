"""Section `geometry`: how closely vectors, heads, terrain and walk of a run are looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from andrea.common.codec import Range
from andrea.common.errors import UserError

FEWEST = 4  # words that a map can be made of
MOST = {"words": 50, "prompts": 20, "sharpness": 20, "triangles": 50}  # in a list

Draws = Annotated[int, Range(1, 1000)]
Rows = Annotated[int, Range(1, 1000)]  # sequences; where the text is shorter, fewer are taken
Tokens = Annotated[int, Range(2, 100_000)]  # at most the context is taken
Share = Annotated[float, Range(0, 10, above=True)]


@dataclass(frozen=True)
class Geometry:
    """More of anything costs time, and changes no training."""

    words: tuple[str, ...]
    frequent_words: Annotated[int, Range(FEWEST, 5000)]
    word_tokens: Annotated[int, Range(2, 10_000_000)]
    map: Literal["pca", "tsne"]
    neighbours: Annotated[int, Range(1, 100)]
    components: Annotated[int, Range(1, 1000)]
    pair_tokens: Annotated[int, Range(1, 100)]
    prompts: tuple[str, ...]
    prompt_tokens: Annotated[int, Range(2, 128)]
    head_rows: Rows
    head_tokens: Tokens
    repeat_tokens: Tokens
    repeats: Annotated[int, Range(2, 100)]
    repeat_rows: Annotated[int, Range(2, 1000)]
    batch_rows: Rows
    batch_tokens: Tokens
    source_rows: Annotated[int, Range(0, 1000)]
    directions: Draws
    noise_draws: Draws
    slice_directions: Draws
    slice_points: Annotated[int, Range(3, 301)]
    slice_reach: Share
    sharpness: tuple[Share, ...]
    hessian_products: Draws
    plane_points: Annotated[int, Range(0, 301)]
    plane_margin: Annotated[float, Range(0, 10)]
    control: str | None
    bins: Annotated[int, Range(1, 2000)]
    chance_points: Annotated[int, Range(1, 10_000)]
    vertices: Annotated[int, Range(1, 10_000)]
    triangles: tuple[tuple[str, ...], ...]

    def check(self, key: str) -> None:
        """Raise UserError where a value has no meaning."""
        for name, most in MOST.items():
            if len(getattr(self, name)) > most:
                raise UserError(f"{key}.{name}: more than {most} are not allowed")
        for name in ("words", "prompts"):
            values = getattr(self, name)
            if not values:
                raise UserError(f"{key}.{name}: none is not allowed, at least one is needed")
            for place, value in enumerate(values):
                if not value.strip():
                    raise UserError(f"{key}.{name}[{place}]: {value!r} has no letter")
        if len(set(self.words)) < max(FEWEST, len(self.words)):
            raise UserError(f"{key}.words: must be {FEWEST} or more, and no word twice")
        if self.plane_points == 1:
            raise UserError(f"{key}.plane_points: 1 is not allowed, must be 0 or 2 to 301")
        if not self.sharpness:
            raise UserError(f"{key}.sharpness: none is not allowed, at least one is needed")
        for place, three in enumerate(self.triangles):
            if len(three) != 3 or len(set(three)) < 3:
                raise UserError(
                    f"{key}.triangles[{place}]: {', '.join(three)} is not allowed, must be three"
                    " different sources"
                )
