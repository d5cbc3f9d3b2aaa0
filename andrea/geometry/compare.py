"""Two runs in numbers, one beside the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from andrea.shell.columns import aligned


class Metric(NamedTuple):
    """One number of two runs; None where a run does not have it."""

    name: str
    one: float | None
    other: float | None

    @property
    def difference(self) -> float | None:
        """The second less the first."""
        return None if self.one is None or self.other is None else self.other - self.one


def flatten(numbers: Mapping[str, Any]) -> dict[str, float]:
    """Nested numbers by their full names, `a.b`; what is no finite number is passed over."""
    return dict(_leaves(numbers, ""))


def rows(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Metric]:
    """Numbers that differ, or that only one run has, in the order of the first run's.

    Args:
        one: nested numbers by name, as in a `metrics.json`; what is no number is passed over.
        other: the same of the second run.
    """
    left, right = flatten(one), flatten(other)
    metrics = [Metric(name, left.get(name), right.get(name)) for name in {**left, **right}]
    return [row for row in metrics if row.one != row.other]


def lines(metrics: list[Metric], names: tuple[str, str]) -> list[str]:
    """The rows as a table in text, or that there are none."""
    if not metrics:
        return ["no difference"]
    cells = [("", *names, "difference")]
    cells += [
        (row.name, _shown(row.one), _shown(row.other), _shown(row.difference, "+"))
        for row in metrics
    ]
    return aligned(cells)


def _shown(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.4g}"


def _leaves(tree: Mapping[str, Any], path: str) -> Iterator[tuple[str, float]]:
    for key, value in tree.items():
        name = f"{path}.{key}" if path else key
        if isinstance(value, Mapping):
            yield from _leaves(value, name)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            continue
        elif math.isfinite(value):
            yield name, value
