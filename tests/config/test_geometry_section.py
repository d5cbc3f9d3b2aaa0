"""Section `geometry`: nothing in it can be so large that the stage never ends."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from andrea.common.codec import Range, decode
from andrea.common.errors import UserError
from andrea.config import reading
from andrea.config.geometry import MOST, Geometry

SHIPPED = reading.load(Path(__file__).parents[2] / "params.yaml")["geometry"]


def refused(change: dict[str, Any]) -> str:
    with pytest.raises(UserError) as error:
        decode(SHIPPED | change, Geometry, "geometry")
    assert "\n" not in str(error.value)
    return str(error.value)


def test_every_number_has_an_end_and_every_list() -> None:
    hints = get_type_hints(Geometry, include_extras=True)
    for field in fields(Geometry):
        allowed = [one for one in get_args(hints[field.name]) if isinstance(one, Range)]
        if isinstance(SHIPPED[field.name], int | float):
            [limits] = allowed
            assert math.isfinite(limits.high)
            assert refused({field.name: int(limits.high) + 1}).startswith(f"geometry.{field.name}:")
        elif isinstance(SHIPPED[field.name], list):
            assert field.name in MOST


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"plane_points": 1}, "plane_points: 1 is not allowed, must be 0 or 2 to 301"),
        ({"prompt_tokens": 129}, "prompt_tokens: 129 is not allowed, must be from 2 to 128"),
        ({"prompts": ["a"] * 21}, "prompts: more than 20 are not allowed"),
        ({"words": [f"w{n}" for n in range(51)]}, "words: more than 50 are not allowed"),
        ({"prompts": ["half \ud800"]}, "prompts[0]: 'half \\ud800' holds half a character"),
        ({"words": ["a", "b", "c", "\udfff"]}, "words[3]: '\\udfff' holds half a character"),
    ],
)
def test_what_is_refused_is_named_with_what_is_allowed(change: dict[str, Any], told: str) -> None:
    assert refused(change).startswith(f"geometry.{told}")
