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
    "evaluate.ood": "ood.path",
    "watch.max_epochs": "limits.warn_epochs",
    "watch.on_degenerate": "limits.on_degenerate",
}


def refuse(params: Mapping[str, Any]) -> None:
    """Refuse a name of old in plain parameters.

    Raises:
        UserError: gives the new name.
    """
    for key in _keys(params):
        refuse_key(key)


def refuse_key(key: str) -> None:
    """Refuse one dotted name of old.

    Raises:
        UserError: gives the new name.
    """
    section, _, rest = key.partition(".")
    scale, _, field = rest.partition(".")
    new = RENAMED.get(key)
    if section == "scales" and field in FORMER_NAMES:
        new = f"scales.{scale}.{FORMER_NAMES[field]}"
    if new is not None:
        raise UserError(f"{key}: is called {new} now")


def _keys(params: Mapping[Any, Any], path: str = "") -> Iterator[str]:
    for name, value in params.items():
        yield f"{path}{name}"
        if isinstance(value, Mapping):
            yield from _keys(value, f"{path}{name}.")
