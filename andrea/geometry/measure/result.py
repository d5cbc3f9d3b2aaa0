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
    """What was looked at."""

    scale: str  # its name
    seed: int  # of the run
    sources: tuple[str, ...]  # names, (k,)
    priority: str  # the source that polish favours; empty if none
    checkpoints: tuple[str, ...]  # names, `initial` first, then one per regime, (p,)
    end_steps: tuple[int, ...]  # optimiser steps done at each checkpoint, (p,); 0 for the first
    # Of each checkpoint's file, (p,); empty for the initial weights, which are made anew.
    sha256: tuple[str, ...]
    beginning: str  # where the initial weights come from, in a few words
    parameters: int  # weights in all
    vocabulary: int  # V
    width: int  # features per token, d
    heads: int  # of a layer, H
    layers: int  # L
    context: int  # tokens of a sequence


@dataclass(frozen=True, eq=False)
class Geometry:
    """One run, seen four ways, and its loss curve."""

    facts: Facts
    vectors: Vectors
    heads: Heads
    terrain: Terrain
    walk: Walk
    losses: Losses
