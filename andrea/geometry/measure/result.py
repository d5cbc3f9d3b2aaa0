"""What the stage `geometry` found in one run: all that its page, its tables and a comparison need.

Letters: p checkpoints (the initial weights first), k sources, V tokens, L layers, H heads. Floats
hold six significant digits, so that the file `geometry.json` gives back exactly what the page was
made from.
"""

from __future__ import annotations

from dataclasses import dataclass

from andrea.geometry.heads.measure.result import Heads
from andrea.geometry.terrain.measure.result import Terrain
from andrea.geometry.vectors.measure.result import Vectors
from andrea.geometry.walk.measure.result import Losses, Walk


@dataclass(frozen=True, eq=False)
class Facts:
    """What was looked at.

    Attributes:
        scale: its name.
        seed: of the run.
        sources: names, (k,).
        priority: the source that polish favours; empty if none.
        checkpoints: names, `initial` first, then one per regime, (p,).
        end_steps: optimiser steps done at each checkpoint, (p,); 0 for the first.
        sha256: of each checkpoint's file, (p,); empty for the initial weights, which are made anew.
        beginning: where the initial weights come from, in a few words.
        parameters: weights in all.
        vocabulary: V.
        width: features per token, d.
        heads: of a layer, H.
        layers: L.
        context: tokens of a sequence.
    """

    scale: str
    seed: int
    sources: tuple[str, ...]
    priority: str
    checkpoints: tuple[str, ...]
    end_steps: tuple[int, ...]
    sha256: tuple[str, ...]
    beginning: str
    parameters: int
    vocabulary: int
    width: int
    heads: int
    layers: int
    context: int


@dataclass(frozen=True, eq=False)
class Geometry:
    """One run, seen four ways, and its loss curve."""

    facts: Facts
    vectors: Vectors
    heads: Heads
    terrain: Terrain
    walk: Walk
    losses: Losses
