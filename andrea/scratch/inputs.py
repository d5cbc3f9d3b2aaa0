"""All that decides the bytes of a regime's result, as dotted names and plain values."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from andrea.common.files import sha256
from andrea.config.training import Watch
from andrea.training.loop import Regime, Settings

# Code that can refuse, show, delay or take up again, but not change a result.
NEUTRAL = (
    "andrea.cli", "andrea.commands", "andrea.config.evaluation", "andrea.config.geometry",
    "andrea.config.outside", "andrea.config.override", "andrea.config.renamed",
    "andrea.config.text", "andrea.config.tree", "andrea.planning", "andrea.scratch",
    "andrea.shell", "andrea.tracking",
)  # fmt: skip


def describe(
    settings: Settings,
    regime: Regime,
    watch: Watch,
    bigram_init: bool,
    files: Mapping[str, str],
) -> dict[str, Any]:
    """What two runs must share for one to go on where the other stopped.

    Args:
        settings: of the run.
        regime: its region and last step.
        watch: what is looked at; whether an alarm halts or is reported changes no byte.
        bigram_init: whether the regime starts with it.
        files: name to digest of every file that is read, in the order of the sources.
    """
    seen = _deciding(watch)
    seen["on_cliff"] = "exclude" if watch.on_cliff == "exclude" else "report"
    values = {
        "seed": settings.seed,
        "scale": _deciding(settings.scale),
        "optimizer": _deciding(settings.optimizer),
        "bandit": _deciding(settings.bandit),
        "curriculum": _deciding(settings.curriculum),
        "machine": settings.machine.record(),
        "regime": {
            "index": regime.index,
            "end_step": regime.end_step,
            "floors": regime.region.lower.tolist(),
            "caps": regime.region.upper.tolist(),
            "bigram_init": bigram_init,
        },
        "watch": seen,
        "data": {**files, "order": list(files)},
        "code": code(),
    }
    return dict(_flat(values, ""))


def code() -> dict[str, str]:
    """Digest by name of every module of ours that is loaded and can change a result."""
    found = {}
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and name.split(".")[0] in ("andrea", "stages") and not name.startswith(NEUTRAL):
            found[name] = sha256(Path(file))
    return found


def _deciding(section: Any) -> dict[str, Any]:
    names = (field.name for field in fields(section))
    return {name: getattr(section, name) for name in names}


def _flat(value: Mapping[str, Any], path: str) -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            flat += _flat(inner, f"{path}{name}.")
        else:
            flat.append((f"{path}{name}", list(inner) if isinstance(inner, tuple) else inner))
    return flat
