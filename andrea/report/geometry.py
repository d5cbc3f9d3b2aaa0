"""What the stage `geometry` found in one run: all that its page, its tables and a comparison need.

Letters: V tokens, p checkpoints (the initial weights first), r regimes that had a step, k sources,
L layers, H heads, T tokens of a prompt. Floats hold six significant digits, so that the file
`geometry.json` gives back exactly what the page was made from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from andrea.geometry.attention import Position
from andrea.geometry.basin import Comparison, Radii, Sigma
from andrea.geometry.closeness import Closeness
from andrea.geometry.critical import Critical
from andrea.geometry.drift import Drift, Movement, Similarity
from andrea.geometry.embeddings import Map, Neighbours
from andrea.geometry.frequency import Bins
from andrea.geometry.heads import Statistics
from andrea.geometry.hessian import TopEigenvalue
from andrea.geometry.spectrum import Components, Cosines, Spectrum
from andrea.geometry.subspaces import Subspaces
from andrea.geometry.terrain import PlanePicture, Slices
from andrea.geometry.triangle import Triangle
from andrea.geometry.walk import Faces, Shares
from andrea.geometry.walk_plane import Plane
from andrea.geometry.walk_summary import RegimeSize, Where
from andrea.geometry.walk_timeline import Timeline

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


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
class Words:
    """The most frequent words, each as the mean of its tokens' rows in the last table.

    Attributes:
        words: most frequent first, (n,).
        counts: occurrences in the text that was counted, (n,).
        tokens: how many tokens each has, (n,).
        map: places of the words.
        neighbours: of each among the others; ids are places in `words`.
    """

    words: tuple[str, ...]
    counts: Integers
    tokens: Integers
    map: Map
    neighbours: Neighbours


@dataclass(frozen=True, eq=False)
class Chosen:
    """Words that the parameters name, each against each, in the last table.

    Attributes:
        words: (m,).
        pieces: tokens of each, readable.
        euclidean: distances, (m, m).
        cosine: (m, m).
        nearest: of each among the most frequent words and the chosen ones, nearest first.
    """

    words: tuple[str, ...]
    pieces: tuple[tuple[str, ...], ...]
    euclidean: Floats
    cosine: Floats
    nearest: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Related:
    """Whether related words are closer than random ones of the same frequency, in one table.

    Attributes:
        checkpoint: whose table.
        same_part: whether the random words have the pair's part of speech, too.
        most_tokens: of each word of a pair.
        found: None where too few pairs are left.
    """

    checkpoint: str
    same_part: bool
    most_tokens: int
    found: Closeness | None


@dataclass(frozen=True, eq=False)
class Vectors:
    """The table of token vectors.

    Attributes:
        pieces: tokens, readable, (V,).
        counts: occurrences of each token in what the run read, (V,).
        bins: of the tokens by count.
        spectra, components, cosines: per checkpoint, (p,).
        movement: of the tokens over the checkpoints.
        similarity: of the checkpoints' tables.
        drift: from each checkpoint to the next, (p - 1,), and then from the first to the last.
        words: the most frequent.
        chosen: words named by the parameters.
        entries: words in the dictionary; 0 where there is none.
        related: rows of the table of related words; none without a dictionary.
        note: why a part is missing; empty where none is.
    """

    pieces: tuple[str, ...]
    counts: Integers
    bins: Bins
    spectra: tuple[Spectrum, ...]
    components: tuple[Components, ...]
    cosines: tuple[Cosines, ...]
    movement: Movement
    similarity: Similarity
    drift: tuple[Drift, ...]
    words: Words
    chosen: Chosen
    entries: int
    related: tuple[Related, ...]
    note: str


@dataclass(frozen=True, eq=False)
class Prompt:
    """One prompt through every head of the last checkpoint.

    Attributes:
        text: as the parameters give it.
        pieces: its tokens, readable, (T,); the first is the start of a document.
        weights: of each token (row) on itself and those before, (L, H, T, T).
        place: the position looked at closely.
        position: what it sees, before and after scaling and softmax.
        error: largest difference of the logits from those of the fast path.
    """

    text: str
    pieces: tuple[str, ...]
    weights: Floats
    place: int
    position: Position
    error: float


@dataclass(frozen=True, eq=False)
class Heads:
    """What heads of the last checkpoint look at.

    Attributes:
        prompts: captured ones.
        text: figures over held-out text of all sources.
        repeated: over random tokens that come again, where induction shows.
        subspaces: what the heads share, over layers one after the other.
    """

    prompts: tuple[Prompt, ...]
    text: Statistics
    repeated: Statistics
    subspaces: Subspaces


@dataclass(frozen=True, eq=False)
class Basin:
    """The surroundings of one checkpoint on one batch.

    Attributes:
        checkpoint: its name, or `control`.
        batch: `all` (text of all sources) or `priority` (of the source that polish favours).
        nats: loss per token at the checkpoint.
        radii: how far in random directions.
        sigma: the noise it bears.
        sharpness_radii: rho of the next, as root mean squares of relative changes, (n,).
        sharpness: rise of the loss in the worst direction, nats, (n,).
        eigenvalue: of the Hessian; None for the batch `priority`.
        slices: along random directions; None for the batch `priority`.
    """

    checkpoint: str
    batch: str
    nats: float
    radii: Radii
    sigma: Sigma
    sharpness_radii: tuple[float, ...]
    sharpness: Floats
    eigenvalue: TopEigenvalue | None
    slices: Slices | None


@dataclass(frozen=True, eq=False)
class Steepness:
    """How large a step from the last checkpoint may be before one source's loss rises.

    Attributes:
        source: whose held-out text.
        last: along the run's last update.
        own: along the update that this source alone asks for.
    """

    source: str
    last: Critical
    own: Critical


@dataclass(frozen=True, eq=False)
class Judgement:
    """Radii of the last checkpoint against others of another, on one batch.

    Attributes:
        batch: `all` or `priority`.
        against: `control` (a fair comparison) or `firehose` (none: the rate fell meanwhile).
        rows: one per rise of the loss.
    """

    batch: str
    against: str
    rows: tuple[Comparison, ...]


@dataclass(frozen=True, eq=False)
class Terrain:
    """The loss around and between the checkpoints, on fixed held-out batches.

    Attributes:
        batch_tokens: tokens of the batch `all`, evenly over the sources.
        basins: of warmup, firehose, polish and, if given, the control, on `all`; of polish,
            firehose and the control on `priority`.
        plane: of the checkpoints in the order of the run (then the control, if given); None where
            they span none.
        plane_checkpoints: names along `plane.path`.
        rate: learning rate of the last step.
        steepness: by source.
        control: sha256 of the control's file; empty without one.
        judgements: see there. Without a control nothing can be concluded, and the page must say so.
        caveats: to be printed with the figures.
    """

    batch_tokens: int
    basins: tuple[Basin, ...]
    plane: PlanePicture | None
    plane_checkpoints: tuple[str, ...]
    rate: float
    steepness: tuple[Steepness, ...]
    control: str
    judgements: tuple[Judgement, ...]
    caveats: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Path:
    """The walk phase by phase, n of them.

    Attributes:
        start_step: first step of each, (n,).
        steps: how many, (n,).
        kinds: `random`, `bandit` or `fixed`, (n,).
        regime: place of the regime in `Walk.regimes`, (n,).
        entropy: of the weights, nats, (n,).
        corner: place of the source with the largest weight, (n,).
        corner_distance: to the nearest corner of the simplex, (n,).
        vertex_distance: to the nearest vertex of the region, (n,); NaN where not listed.
        on_bound: sources on a floor or cap, (n,).
    """

    start_step: Integers
    steps: Integers
    kinds: NDArray[np.str_]
    regime: Integers
    entropy: Floats
    corner: Integers
    corner_distance: Floats
    vertex_distance: Floats
    on_bound: Integers


@dataclass(frozen=True, eq=False)
class Walk:
    """The path of the mixture.

    Attributes:
        regimes: names of those that had a step, (r,).
        path: phase by phase.
        timeline: over steps, in bins.
        shares: planned against realised; its `lag_sequences` are those of every phase.
        faces: time on floors and caps.
        sizes: of the regimes and their regions, (r,).
        where: how near the corners, beside chance.
        plane: path and polygons on two axes.
        triangles: those that the parameters name; the first is polish's own.
    """

    regimes: tuple[str, ...]
    path: Path
    timeline: Timeline
    shares: Shares
    faces: Faces
    sizes: tuple[RegimeSize, ...]
    where: tuple[Where, ...]
    plane: Plane
    triangles: tuple[Triangle, ...]


@dataclass(frozen=True, eq=False)
class Losses:
    """The training loss and what the watch said of it.

    Attributes:
        regime: of each row, (n,).
        step: last step of each row, (n,).
        loss: mean over the row's steps, nats per token, (n,).
        alarms: rows of all `alarms.csv` as text: `step`, `kind`, `source`, `nats`, `median`,
            `text` and others. Those of kind `cliff` are marked on the curve.
    """

    regime: NDArray[np.str_]
    step: Integers
    loss: Floats
    alarms: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, eq=False)
class Geometry:
    """One run, seen four ways, and its loss curve."""

    facts: Facts
    vectors: Vectors
    heads: Heads
    terrain: Terrain
    walk: Walk
    losses: Losses
