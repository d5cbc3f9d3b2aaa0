"""What the contract tests know of the repository."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML

from andrea.scratch.inputs import ROOT, closure, imports

__all__ = ["ROOT", "closure", "imports", "pipeline", "stages", "value_at"]


@dataclass(frozen=True)
class Stage:
    """One stage of `dvc.yaml`, its templates filled in; `word` is its name without `@source`."""

    word: str
    command: str
    params: tuple[str, ...]
    deps: tuple[str, ...]
    outs: tuple[str, ...]
    always: bool


def pipeline() -> dict[str, Any]:
    """`dvc.yaml` as it is written."""
    read: dict[str, Any] = YAML(typ="safe", pure=True).load(ROOT / "dvc.yaml")
    return read


def stages(params: Mapping[str, Any]) -> dict[str, Stage]:
    """Every stage that `dvc.yaml` makes of some parameters."""
    found = {}
    for word, entry in pipeline()["stages"].items():
        if "foreach" not in entry:
            found[word] = _stage(word, entry, params)
            continue
        for key, item in params["sources"].items():
            found[f"{word}@{key}"] = _stage(word, entry["do"], {**params, "key": key, "item": item})
    return found


def _stage(word: str, entry: Mapping[str, Any], values: Mapping[str, Any]) -> Stage:
    def filled(text: str) -> str:
        return re.sub(r"\$\{(.+?)\}", lambda found: str(value_at(values, found[1])), text)

    def column(name: str) -> tuple[str, ...]:
        return tuple(
            filled(x if isinstance(x, str) else next(iter(x))) for x in entry.get(name, ())
        )

    return Stage(
        word,
        filled(entry["cmd"]),
        column("params"),
        column("deps"),
        column("outs"),
        entry.get("always_changed", False),
    )


def value_at(tree: Any, key: str) -> Any:
    """What stands under a dotted key."""
    for name in key.split("."):
        tree = tree[name]
    return tree


if __name__ == "__main__":
    for stage in sys.argv[1:]:
        print(stage, *sorted(closure(ROOT / "stages" / f"{stage}.py")), sep="\n      - ")
