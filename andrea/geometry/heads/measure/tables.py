"""The heads, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from andrea.geometry.heads.measure.heads import Heads as Figures
from andrea.geometry.heads.measure.subspaces import PROJECTIONS
from andrea.geometry.measure.result import Geometry
from andrea.geometry.measure.row import Row


def tables(found: Geometry) -> dict[str, Iterator[Row]]:
    """Rows by name of the table."""
    return {
        "heads": _heads(found),
        "subspaces": _subspaces(found),
    }


def _heads(found: Geometry) -> Iterator[Row]:
    shown = {"text": found.heads.text, "repeated": found.heads.repeated}
    layers, heads = found.facts.layers, found.facts.heads
    for layer in range(layers):
        for head in range(heads):
            row: Row = {"head": f"{layer + 1}.{head + 1}"}
            for over, statistics in shown.items():
                for figure in fields(Figures):
                    mean = getattr(statistics.mean, figure.name)
                    error = getattr(statistics.standard_error, figure.name)
                    row[f"{over}_{figure.name}"] = mean[layer, head]
                    row[f"{over}_{figure.name}_error"] = error[layer, head]
            yield row


def _subspaces(found: Geometry) -> Iterator[Row]:
    shared, heads = found.heads.subspaces, found.facts.heads
    count = shared.rank.shape[1]
    names = [f"{place // heads + 1}.{place % heads + 1}" for place in range(count)]
    for number, projection in enumerate(PROJECTIONS):
        for i in range(count):
            for j in range(i + 1, count):
                yield {
                    "projection": projection,
                    "head": names[i],
                    "other": names[j],
                    "squared_cosine": shared.squared_cosine[number, i, j],
                    "expected": shared.expected[number, i, j],
                    "deviation": shared.deviation[number, i, j],
                }
