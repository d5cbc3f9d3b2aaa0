"""One regime as a stage: checkpoint and shards in, checkpoint and reports out."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import numpy as np

from andrea import paths
from andrea.config import regime as regimes
from andrea.config import scale as scales
from andrea.config import sources as source_config
from andrea.config.bandit import Bandit
from andrea.config.compute import Compute
from andrea.config.curriculum import Curriculum
from andrea.config.optimizer import Optimizer
from andrea.config.reading import section
from andrea.errors import UserError
from andrea.files import sha256, whole_folder, write_json
from andrea.mixture.simplex import Region
from andrea.mixture.volume import log10_share
from andrea.model import head_start
from andrea.planning.estimate import refuse
from andrea.report import history
from andrea.report.progress import Progress
from andrea.text.shards import open_shard
from andrea.text.tokenizer import Tokenizer
from andrea.tracking.live import live
from andrea.training import batches, checkpoint, machine, state
from andrea.training.loop import Data, Regime, Settings, run_regime
from andrea.training.records import FinishedPhase
from andrea.training.state import TrainState


def train(params: dict[str, Any], name: str) -> None:
    """Run the regime `name`, from the checkpoint of the one before."""
    refuse(params)
    settings = Settings(
        params["seed"],
        scales.active(params),
        section(params, "optimizer", Optimizer),
        section(params, "bandit", Bandit),
        section(params, "curriculum", Curriculum),
        machine.prepare(section(params, "compute", Compute)),
    )
    sources = list(source_config.read(params))
    cfg, bounds = regimes.read(params, name, sources)
    index = regimes.NAMES.index(name)
    region = Region(np.array(bounds.lower), np.array(bounds.upper))
    regime = Regime(index, region, regimes.last_step(cfg, settings.scale.steps))
    shards = {source: open_shard(paths.SHARDS / source, paths.TOKENIZER) for source in sources}
    data = Data(
        [shard.train for shard in shards.values()],
        [shard.probe for shard in shards.values()],
        Tokenizer.load(paths.TOKENIZER).byte_lengths,
    )
    training = state.new(
        settings.scale, settings.optimizer, len(sources), settings.seed, settings.machine.device
    )
    facts = {
        "regime": name,
        "sources": sources,
        "scale": asdict(settings.scale),
        "machine": settings.machine.record(),
        "tokenizer": sha256(paths.TOKENIZER),
        "train": {s: shard.manifest["splits"]["train"]["sha256"] for s, shard in shards.items()},
    }
    if index > 0:
        before = paths.CHECKPOINTS / regimes.NAMES[index - 1] / checkpoint.FILE
        _refuse_other(checkpoint.load(before, training), facts, str(before))
    elif settings.scale.head_start > 0:
        allowed = [s for s, active in zip(data.train, region.active, strict=True) if active]
        losses = head_start.apply(training.model, allowed, settings.scale.head_start)
        print(f"head start: {losses[-1]:.3f} nats per token from token pairs alone")
    print(f"{name}: steps {training.step} to {regime.end_step} on {settings.machine.record()}")
    rows, phases = _steps(params, name, training, regime, data, settings, sources)
    with whole_folder(paths.CHECKPOINTS / name) as folder:
        checkpoint.save(folder / checkpoint.FILE, training, facts)
    with whole_folder(paths.REPORTS / name) as folder:
        columns = history.columns(sources)
        history.write_csv(folder / "history.csv", rows, columns)
        history.write_csv(
            folder / "phases.csv",
            [history.phase_row(phase, sources) for phase in phases],
            history.phase_columns(sources),
        )
        sizes = [batches.count(stream, settings.scale.context) for stream in data.train]
        write_json(folder / "metrics.json", history.summary(training, rows, phases, sources, sizes))
        write_json(folder / "machine.json", settings.machine.record())


def _steps(
    params: dict[str, Any],
    name: str,
    training: TrainState,
    regime: Regime,
    data: Data,
    settings: Settings,
    sources: list[str],
) -> tuple[list[history.Row], list[FinishedPhase]]:
    """Train, and gather the history; MLflow and the terminal are shown it as it grows."""
    share = log10_share(regime.region)[0]
    rows: list[history.Row] = []
    phases: list[FinishedPhase] = []
    window = history.Window.empty(len(sources))
    since = time.monotonic()
    progress = Progress(name, regime.end_step, training.step)
    with live(params, name) as tracker, progress:
        for stats in run_regime(training, regime, data, settings):
            window = window.add(stats)
            if stats.finished is not None:
                phases.append(stats.finished)
            pace = window.steps * settings.scale.step_tokens / (time.monotonic() - since)
            if window.steps == settings.scale.log_every or training.step == regime.end_step:
                rows.append(window.row(stats, sources, share))
                tracker.log(stats.step, {**rows[-1], "tokens_per_second": pace})
                window, since = history.Window.empty(len(sources)), time.monotonic()
            progress.advance(f"loss {stats.loss:.3f} nats  {pace:,.0f} tokens/s")
    return rows, phases


def _refuse_other(found: dict[str, Any], needed: dict[str, Any], path: str) -> None:
    for key in ("sources", "scale", "tokenizer", "train"):
        if found[key] != needed[key]:
            raise UserError(f"{path}: made with other {key}; run `dvc repro` from the start")
