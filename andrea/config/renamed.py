"""Names that parameters had before: refused by a line that gives the new one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from andrea.common.errors import UserError
from andrea.config.training import FORMER_NAMES

RENAMED = {
    "shard": "documents",
    "optimizer.warmup": "optimizer.lr_warmup",
    "optimizer.clip": "optimizer.grad_clip",
    "optimizer.final_rate": "optimizer.final_lr",
    "curriculum.max_epochs": "limits.max_epochs",
    "curriculum.allow_repeats": "limits.allow_repeats",
    "watch.max_epochs": "limits.warn_epochs",
    "watch.on_degenerate": "limits.on_degenerate",
}


def refuse(params: Mapping[str, Any]) -> None:
    """Refuse a name of old.

    Raises:
        UserError: gives the new name.
    """
    for old, new in _names(params):
        *sections, name = old.split(".")
        place: Any = params
        for section in sections:
            place = place.get(section) if isinstance(place, Mapping) else None
        if isinstance(place, Mapping) and name in place:
            raise UserError(f"{old}: is called {new} now")


def _names(params: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from RENAMED.items()
    scales = params.get("scales")
    for scale in scales if isinstance(scales, Mapping) else ():
        for old, new in FORMER_NAMES.items():
            yield f"scales.{scale}.{old}", f"scales.{scale}.{new}"
