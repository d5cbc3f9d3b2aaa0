"""The numbers that decide a text, as people give them: on a command line, to a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from andrea.common.codec import Range, decode
from andrea.common.errors import UserError

if TYPE_CHECKING:
    from andrea.model.filters import Sampling

COUNT = Annotated[int, Range(1, 1_000_000)]
SEED = Annotated[int, Range(0, 2**32 - 1)]
DEFAULTS: dict[str, int | float] = {
    "tokens": 128, "temperature": 0.8, "top_k": 50, "top_p": 1.0, "min_p": 0.0,
    "repetition_penalty": 1.0, "seed": 0,
}  # fmt: skip

# Beyond them a logit would overflow, and the text be no other.
BOUNDS = {"temperature": Range(1e-6, 1e6), "repetition_penalty": Range(1e-6, 1e6)}


@dataclass(frozen=True)
class Request:
    """How much is written, and how."""

    tokens: int
    seed: int
    sampling: Sampling


def read(given: Mapping[str, Any], spell: Callable[[str], str] = str) -> Request:
    """Check numbers that have the keys of `DEFAULTS`, which errors call as `spell` does.

    Raises:
        UserError: names the key, the value and what is allowed.
    """
    from andrea.model.filters import Sampling  # takes numpy, which the command line starts without

    kinds = {"tokens": COUNT, "seed": SEED, **get_type_hints(Sampling, include_extras=True)}
    values = {name: decode(given[name], kind, spell(name)) for name, kind in kinds.items()}
    for name, allowed in BOUNDS.items():
        if values[name] and values[name] not in allowed:
            also = "0 or " * (name == "temperature")
            raise UserError(
                f"{spell(name)}: {given[name]!r} is not allowed, must be {also}{allowed}"
            )
    return Request(values.pop("tokens"), values.pop("seed"), Sampling(**values))
