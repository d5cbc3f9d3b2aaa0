"""A plan as people read it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from andrea.planning.estimate import Plan, RegimePlan
from andrea.shell.columns import aligned

if TYPE_CHECKING:
    from andrea.planning.speed import Speed


def lines(plan: Plan, speed: Speed | None, refusals: Sequence[str] = ()) -> list[str]:
    """The plan, line by line; `refusals` are those of the machine, beside those of the plan."""
    scale, state, activations = plan.scale, plan.state_bytes, plan.activation_bytes
    refused = [*plan.refusals, *refusals]
    memory = (
        f"about {_size(state + activations)}: {_size(state)} weights, gradients and moments,"
        f" {_size(activations)} activations (an estimate)"
    )
    shape = f"{scale.n_layers} layers, width {scale.d_model}, {scale.n_heads} heads"
    facts = [
        ("scale", plan.scale_name),
        ("parameters", f"{scale.parameters:,} ({shape})"),
        ("vocabulary", f"{scale.vocabulary:,}"),
        ("tokens", f"{scale.step_tokens:,} a step, {scale.step_tokens * scale.steps:,} in all"),
        ("memory", memory),
        ("disk", f"{_size(plan.checkpoint_bytes)} checkpoints, {_size(plan.shard_bytes)} shards"),
        ("speed", _speed(plan, speed)),
    ]
    return [
        *aligned(facts, "<<"),
        "",
        *_regimes(plan, speed),
        "",
        *_sources(plan),
        "",
        *(f"warning: {warning}" for warning in plan.warnings),
        *([f"refused: {reason}" for reason in refused] or ["nothing would be refused"]),
    ]


def _speed(plan: Plan, speed: Speed | None) -> str:
    if speed is None:
        return "not measured"
    on, rows = speed.machine, plan.scale.micro_batch
    few = f", from {speed.rows} of {rows} rows" if speed.rows < rows else ""
    pace = plan.scale.step_tokens / speed.step_seconds
    return f"{pace:,.0f} tokens/s on {on['device']}, {on['dtype']}, {on['threads']} threads{few}"


def _regimes(plan: Plan, speed: Speed | None) -> list[str]:
    def time(regime: RegimePlan) -> str:
        if speed is None:
            return "-"
        steps = regime.end_step - regime.first_step
        seconds = round(steps * regime.slowdown * speed.step_seconds)
        return str(timedelta(seconds=seconds))

    rows = [("regime", "first step", "end step", "tokens", "time")]
    for regime in plan.regimes:
        steps = (f"{regime.first_step:,}", f"{regime.end_step:,}", f"{regime.tokens:,}")
        rows.append((regime.name, *steps, time(regime)))
    return aligned(rows)


def _sources(plan: Plan) -> list[str]:
    names = [regime.name for regime in plan.regimes]
    rows: list[tuple[str, ...]] = [("source", "tokens", *names, "epochs")]
    for source, length in plan.lengths.items():
        about = "" if length.counted else "~"
        epochs = [regime.epochs[source] for regime in plan.regimes]
        counts = [f"{count:,.2f}" for count in (*epochs, plan.epochs[source])]
        rows.append((source, f"{about}{length.tokens:,}", *counts))
    lines = aligned(rows)
    if not all(length.counted for length in plan.lengths.values()):
        lines.append("~ a guess from the text's size; run `andrea inspect`, which reads all of it")
    return lines


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
