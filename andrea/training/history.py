"""What a regime did, as tables: `history.csv` every few steps, `phases.csv` every phase.

Nothing here depends on the clock, so equal runs give equal bytes.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from andrea.mixture.simplex import entropy
from andrea.training.records import FinishedPhase, StepStats
from andrea.training.state import TrainState

Row = dict[str, float]


@dataclass(frozen=True)
class Window:
    """Sums over the steps of a row that is not full yet.

    Attributes:
        steps: of the window.
        random: of these, of random phases.
        loss: sum of the finite losses, nats per token, and their number.
        nats: loss times sequences by source, (k,).
        sequences: by source, (k,).
        weights: asked for, (k,).
    """

    steps: int
    random: int
    loss: tuple[float, int]
    nats: tuple[float, ...]
    sequences: tuple[int, ...]
    weights: tuple[float, ...]

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
            sources: names, in the order of every (k,) vector.
            log10_share: of the regime's region.

        Returns:
            `step` (of the last), `loss` (nats per token), `rate`, `gradient_norm` (of the last),
            `entropy` of the mean weights in nats, `log10_share`, `random_phases` (share of the
            steps), and by source `loss.<source>` (NaN where unseen) and `weight.<source>`.
        """
        total, finite = self.loss
        weights = np.array(self.weights) / self.steps
        row: Row = {
            "step": last.step,
            "loss": total / finite if finite else math.nan,
            "rate": last.rate,
            "gradient_norm": last.gradient_norm,
            "entropy": entropy(weights),
            "log10_share": log10_share,
            "random_phases": self.random / self.steps,
        }
        for source, nats, seen in zip(sources, self.nats, self.sequences, strict=True):
            row[f"loss.{source}"] = nats / seen if seen else math.nan
        row.update({f"weight.{s}": float(x) for s, x in zip(sources, weights, strict=True)})
        return row

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, exact but for a loss that is not finite, which becomes null."""
        return {**asdict(self), "nats": [x if math.isfinite(x) else None for x in self.nats]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Window:
        """The window that `to_json` wrote."""
        return cls(
            value["steps"],
            value["random"],
            (value["loss"][0], value["loss"][1]),
            tuple(math.nan if x is None else x for x in value["nats"]),
            tuple(value["sequences"]),
            tuple(value["weights"]),
        )


def plain(row: Row) -> dict[str, float | None]:
    """A row for JSON, which has no word for what is not finite."""
    return {name: value if math.isfinite(value) else None for name, value in row.items()}


def columns(sources: Sequence[str]) -> list[str]:
    """Names of the history's columns, in order."""
    plain = ["step", "loss", "rate", "gradient_norm", "entropy", "log10_share", "random_phases"]
    return plain + [f"{name}.{source}" for name in ("loss", "weight") for source in sources]


def phase_columns(sources: Sequence[str]) -> list[str]:
    """Names of the phases' columns, in order."""
    plain = ["start_step", "steps", "kind", "entropy"]
    by_source = ("weight", "score", "reward", "noise", "sequences")
    return plain + [f"{name}.{source}" for name in by_source for source in sources]


def phase_row(finished: FinishedPhase, sources: Sequence[str]) -> dict[str, float | str]:
    """One row of the phases: kind, steps, and by source what it was given and earned."""
    phase = finished.phase
    row: dict[str, float | str] = {
        "start_step": phase.start_step,
        "steps": phase.steps,
        "kind": phase.kind,
        "entropy": entropy(phase.weights),
    }
    for name, values in (
        ("weight", phase.weights),
        ("score", finished.scores),
        ("reward", finished.rewards),
        ("noise", finished.noise),
        ("sequences", finished.sequences),
    ):
        row.update(
            {
                f"{name}.{s}": math.nan if x is None else x
                for s, x in zip(sources, values, strict=True)
            }
        )
    return row


def write_csv(
    path: Path, rows: Sequence[Mapping[str, float | str]], columns: Iterable[str]
) -> None:
    """Write rows as CSV; what is not finite becomes an empty field, floats keep every digit."""
    names = list(columns)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for row in rows:
            writer.writerow([_field(row[name]) for name in names])


def _field(value: float | str) -> float | str:
    return "" if isinstance(value, float) and not math.isfinite(value) else value


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
        rows: its history.
        phases: all that it finished.
        sources: names, (k,).
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


def _named(sources: Sequence[str], values: NDArray[np.float64]) -> dict[str, float]:
    return {source: float(value) for source, value in zip(sources, values, strict=True)}
