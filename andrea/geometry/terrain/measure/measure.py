"""The loss around and between the checkpoints."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from andrea.common.errors import UserError
from andrea.config.training import REGIMES
from andrea.geometry.measure.run import CONTROL, LAST, FinishedRun
from andrea.geometry.measure.text import held_out, held_out_of_all
from andrea.geometry.terrain.measure import basin, critical, hessian, plane
from andrea.geometry.terrain.measure import surface as terrain
from andrea.geometry.terrain.measure.result import SNAPSHOT, Basin, Judgement, Steepness, Terrain
from andrea.shell.progress import Progress

ROWS = 16  # sequences per forward pass
TOLERANCE = 0.01  # of the steepest curvature
ALL, PRIORITY = "all", "priority"
BEFORE = REGIMES[-2]


@dataclass(frozen=True, eq=False)
class _Batch:
    """A fixed batch, as a height and as something to differentiate."""

    loss: terrain.Loss
    parts: hessian.Parts


def measure(run: FinishedRun, rate: float, progress: Progress) -> Terrain:
    """Measure the terrain; all weights are put back.

    Args:
        rate: learning rate of the run's last step.
        progress: advanced once per basin, for the plane, and once per source.

    Raises:
        UserError: there is too little held-out text.
    """
    cfg = run.cfg
    inputs, targets = held_out_of_all(run, cfg.batch_rows, cfg.batch_tokens)
    batch = _batch(run, inputs, targets)
    own = _batch(run, *_priority(run, len(inputs)))
    controls = [CONTROL] if run.control is not None else []
    basins = []
    for name in (*REGIMES, *controls):
        basins.append(_basin(run, name, ALL, batch))
        progress.advance(f"basin of {name}")
    for name in (BEFORE, LAST, *controls):
        basins.append(_basin(run, name, PRIORITY, own))
        progress.advance(f"basin of {name} on {run.facts.priority}")
    path = _path(run)
    over_plane = _plane(run, path, batch)
    progress.advance("plane of the path")
    return Terrain(
        batch_tokens=targets.numel(),
        basins=tuple(basins),
        plane=over_plane,
        plane_names=tuple(point.name for point in path),
        plane_steps=tuple(point.step for point in path),
        rate=rate,
        steepness=_steepness(run, rate, progress),
        control=run.control_sha256,
        judgements=_judgements(run, basins, [*controls, BEFORE]),
        caveats=basin.CAVEATS,
    )


def _priority(run: FinishedRun, rows: int) -> tuple[Tensor, Tensor]:
    source, tokens = run.facts.priority, run.cfg.batch_tokens
    inputs, targets = held_out(run, source, rows, tokens)
    if not len(inputs):
        raise UserError(
            f"geometry.batch_tokens: {tokens} is not allowed, the held-out text of {source}"
            " (polish.priority) is shorter"
        )
    return inputs, targets


def parts_of_progress(run: FinishedRun) -> int:
    """How often `measure` advances."""
    return 2 * len(REGIMES) + 2 * (run.control is not None) + len(run.shards)


def _batch(run: FinishedRun, inputs: Tensor, targets: Tensor) -> _Batch:
    device = run.model.token.device
    given = (run.model, inputs.to(device), targets.to(device), ROWS)
    return _Batch(terrain.loss_on(*given), hessian.parts_on(*given))


def _basin(run: FinishedRun, name: str, kind: str, batch: _Batch) -> Basin:
    cfg, seed, model = run.cfg, run.facts.seed, run.place(name)
    whole = kind == ALL
    distances = np.linspace(-cfg.slice_reach, cfg.slice_reach, cfg.slice_points)
    lengths = tuple(share * math.sqrt(run.scale.parameters) for share in cfg.sharpness)
    return Basin(
        name,
        kind,
        batch.loss(),
        basin.radii(model, batch.loss, seed, cfg.directions),
        basin.pac_bayes_sigma(model, batch.loss, seed, cfg.noise_draws),
        cfg.sharpness,
        basin.adaptive_sharpness(model, batch.loss, batch.parts, lengths),
        hessian.top_eigenvalue(model, batch.parts, seed, cfg.hessian_products, TOLERANCE)
        if whole
        else None,
        terrain.slices(model, batch.loss, seed, cfg.slice_directions, distances.tolist())
        if whole
        else None,
    )


@dataclass(frozen=True, eq=False)
class _Point:
    """A place on the path of the run, or its control."""

    name: str
    step: int
    weights: terrain.Weights


def _path(run: FinishedRun) -> list[_Point]:
    """Checkpoints and the snapshots before each, in the order of the run; then the control."""
    points = []
    for name, step in zip(run.facts.checkpoints, run.facts.end_steps, strict=True):
        points += [_Point(SNAPSHOT, s.step, s) for s in run.snapshots if s.regime == name]
        points.append(_Point(name, step, run.weights[name]))
    if run.control is not None:
        points.append(_Point(CONTROL, run.facts.end_steps[-1], run.control))
    return points


def _plane(run: FinishedRun, path: list[_Point], batch: _Batch) -> plane.PlanePicture | None:
    if run.cfg.plane_points == 0:
        return None
    try:
        return plane.plane_picture(
            run.model, [point.weights for point in path], batch.loss, run.cfg.plane_points,
            run.cfg.plane_margin,
        )  # fmt: skip
    except ValueError:  # regimes without a step leave too few different points
        return None


def _steepness(run: FinishedRun, rate: float, progress: Progress) -> tuple[Steepness, ...]:
    model, optimizer = run.place(LAST), run.state.optimizer
    steepness = []
    if not all(state["step"] for state in optimizer.state.values()):
        return ()
    last = critical.last_update(model, optimizer)
    for source in run.shards:
        inputs, targets = held_out(run, source, run.cfg.source_rows, run.cfg.batch_tokens)
        if len(inputs):
            batch = _batch(run, inputs, targets)
            own = critical.update_along(model, optimizer, hessian.gradient(model, batch.parts))
            both = (critical.critical_rate(model, way, batch.loss, rate) for way in (last, own))
            steepness.append(Steepness(source, *both))
        progress.advance(f"steps that hurt {source}")
    return tuple(steepness)


def _judgements(run: FinishedRun, basins: list[Basin], others: list[str]) -> tuple[Judgement, ...]:
    radii = {(found.checkpoint, found.batch): found.radii for found in basins}
    rows = {
        (kind, other): basin.compare(radii[LAST, kind], radii[other, kind], run.facts.seed)
        for other in others
        for kind in (ALL, PRIORITY)
    }
    return tuple(Judgement(kind, other, tuple(found)) for (kind, other), found in rows.items())
