"""What a regime did, as tables: `history.csv` every few steps, `phases.csv` every phase.

Nothing here depends on the clock, so equal runs give equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from andrea.common import tables
from andrea.mixture.simplex import entropy
from andrea.training.records import FinishedPhase, StepStats

if TYPE_CHECKING:
    from andrea.training.state import TrainState

Row = dict[str, int | float]  # of the history

HISTORY, PHASES = "history.csv", "phases.csv"
OF_PHASE = {  # column of `phases.csv`, by source: from a `FinishedPhase`, (k,)
    "weight": attrgetter("phase.weights"), "score": attrgetter("scores"),
    "reward": attrgetter("rewards"), "noise": attrgetter("noise"),
    "sequences": attrgetter("sequences"),
}  # fmt: skip


@dataclass(frozen=True)
class Window:
    """Sums over the steps of a row that is not full yet."""

    steps: int
    random: int  # of these, of random phases
    loss: tuple[float, int]  # sum of the finite losses, nats per token, and their number
    nats: tuple[float, ...]  # loss times sequences by source, (k,)
    sequences: tuple[int, ...]  # by source, (k,)
    weights: tuple[float, ...]  # asked for, (k,)

    @classmethod
    def empty(cls, k: int) -> Window:
        """No step yet, of k sources."""
        return cls(0, 0, (0.0, 0), (0.0,) * k, (0,) * k, (0.0,) * k)

    def add(self, stats: StepStats) -> Window:
        """The window with one more step."""
        total, finite = self.loss
        if math.isfinite(stats.loss):
            total, finite = total + stats.loss, finite + 1
        by_source = np.where(stats.sequences > 0, stats.loss_by_source, 0.0) * stats.sequences
        # Infinity is as good as NaN in a sum, and JSON has one word for both.
        by_source[~np.isfinite(by_source)] = np.nan
        return Window(
            self.steps + 1,
            self.random + (stats.kind == "random"),
            (total, finite),
            tuple((self.nats + by_source).tolist()),
            tuple((self.sequences + stats.sequences).tolist()),
            tuple((np.array(self.weights) + stats.weights).tolist()),
        )

    def row(self, last: StepStats, sources: Sequence[str], log10_share: float) -> Row:
        """One row of the history: means over the window.

        Args:
            last: of its steps, of which there is at least one.

        Returns:
            `step` (of the last), `loss` (nats per token), `lr`, `grad_norm` (of the last),
            `entropy` of the mean weights in nats, `log10_share`, `random_phases` (share of the
            steps), and by source `loss.<source>` (NaN where unseen) and `weight.<source>`.
        """
        total, finite = self.loss
        weights = np.array(self.weights) / self.steps
        row: Row = {
            "step": last.step,
            "loss": total / finite if finite else math.nan,
            "lr": last.lr,
            "grad_norm": last.grad_norm if math.isfinite(last.grad_norm) else math.nan,
            "entropy": entropy(weights),
            "log10_share": log10_share,
            "random_phases": self.random / self.steps,
        }
        for source, nats, count in zip(sources, self.nats, self.sequences, strict=True):
            row[f"loss.{source}"] = nats / count if count else math.nan
        row.update({f"weight.{s}": float(x) for s, x in zip(sources, weights, strict=True)})
        return row


def columns(sources: Sequence[str]) -> list[str]:
    """Names of the history's columns, in order."""
    of_all = ["step", "loss", "lr", "grad_norm", "entropy", "log10_share", "random_phases"]
    return of_all + [f"{name}.{source}" for name in ("loss", "weight") for source in sources]


def phase_columns(sources: Sequence[str]) -> list[str]:
    """Names of the phases' columns, in order."""
    of_all = ["start_step", "steps", "kind", "entropy"]
    return of_all + [f"{name}.{source}" for name in OF_PHASE for source in sources]


def phase_row(finished: FinishedPhase, sources: Sequence[str]) -> dict[str, Any]:
    """One row of the phases: kind, steps, and by source what it was given and earned."""
    phase = finished.phase
    row: dict[str, Any] = {
        "start_step": phase.start_step,
        "steps": phase.steps,
        "kind": phase.kind,
        "entropy": entropy(phase.weights),
    }
    for name, of in OF_PHASE.items():
        row |= {f"{name}.{s}": value for s, value in zip(sources, of(finished), strict=True)}
    return row


def write(
    folder: Path, rows: Sequence[Row], phases: Sequence[FinishedPhase], sources: Sequence[str]
) -> None:
    """Write both tables into `folder`."""
    tables.write(folder / HISTORY, rows, columns(sources))
    phase_rows = [phase_row(phase, sources) for phase in phases]
    tables.write(folder / PHASES, phase_rows, phase_columns(sources))


def summary(
    state: TrainState,
    rows: Sequence[Row],
    phases: Sequence[FinishedPhase],
    sources: Sequence[str],
    sizes: Sequence[int],
) -> dict[str, Any]:
    """What a regime came to.

    Args:
        state: after its last step.
        sizes: training sequences of each source, (k,).

    Returns:
        Totals of the run so far; the last loss; and of the regime, by source, planned and realised
        shares of the sequences; `epochs` by source are those of the run so far.
    """
    steps = np.array([finished.phase.steps for finished in phases], dtype=np.float64)
    weights = np.array([finished.phase.weights for finished in phases])
    sequences = np.array([finished.sequences for finished in phases])
    figures: dict[str, Any] = {
        "steps": state.step,
        "tokens": state.tokens,
        "skipped_steps": state.skipped,
        "phases": len(phases),
        "epochs": _named(sources, np.array(state.sampler.cursors) / np.maximum(sizes, 1)),
    }
    if phases:
        planned, realised = steps @ weights, sequences.sum(0)
        if math.isfinite(rows[-1]["loss"]):
            figures["loss"] = rows[-1]["loss"]
        figures["random_share"] = float(np.mean([f.phase.kind == "random" for f in phases]))
        figures["planned_share"] = _named(sources, planned / planned.sum())
        figures["realised_share"] = _named(sources, realised / realised.sum())
    return figures


def _named(sources: Sequence[str], values: ArrayLike) -> dict[str, float]:
    return dict(zip(sources, np.asarray(values, dtype=np.float64).tolist(), strict=True))
