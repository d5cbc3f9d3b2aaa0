"""One regime as a stage: checkpoint and shards in, checkpoint and reports out."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from andrea.common import paths
from andrea.common.errors import UserError
from andrea.common.files import sha256, whole_folder, write_json
from andrea.config.training import REGIMES, Warmup, Watch, last_step
from andrea.config.tree import Config
from andrea.mixture.simplex import Region
from andrea.model import bigram_init
from andrea.planning.estimate import refuse, warnings
from andrea.scratch import folder as scratch
from andrea.scratch import inputs, resume
from andrea.tokens.shards import Shard, open_shard
from andrea.tokens.tokenizer import BOS, Tokenizer
from andrea.training import batches, checkpoint, history, machine, start, state, watch
from andrea.training import snapshots as snapshot
from andrea.training import watch_tables as watch_report
from andrea.training.journal import Journal
from andrea.training.loop import Data, Regime, Settings
from andrea.training.snapshots import Snapshots
from andrea.training.state import TrainState
from andrea.training.watch import Eyes, WatchState
from andrea.watching import original
from stages._steps import Steps, run_steps

WORD_TOKENS = 1 << 14  # of each source, that the watch learns English words from


@dataclass(frozen=True)
class Run:
    """All that a regime is trained from."""

    name: str
    config: Config
    settings: Settings
    regime: Regime
    sources: list[str]
    shards: dict[str, Shard]
    data: Data
    tokenizer: Tokenizer
    watch: Watch
    before: Path | None
    start: Path | None


def train(config: Config, name: str) -> None:
    """Run the regime `name`, from the checkpoint of the one before or from where it was stopped."""
    refuse(config)
    for warning in warnings(config):
        print(f"warning: {warning}", file=sys.stderr)
    run = _read(config, name)
    files = _digests(run)
    root = _root() / scratch.ROOT
    begins = run.before is None and run.start is None and run.settings.scale.bigram_init > 0
    needed = inputs.describe(run.settings, run.regime, run.watch, begins, files)
    with scratch.hold(root, name, needed) as held:
        snapshots = _snapshots(run, held)
        training, journal = _resume(run, held, snapshots)
        first = training.step
        print(f"{name}: steps {first} to {run.regime.end_step} on {run.settings.machine.record()}")
        run_steps(
            Steps(
                name, config, run.sources, run.regime, run.data, run.settings, run.tokenizer,
                _eyes(run) if run.watch.enabled else None, held,
                config.scratch.checkpoint_every, snapshots,
            ),
            training,
            journal,
        )  # fmt: skip
        try:
            _write(run, training, journal, snapshots)
            held.finish(paths.CHECKPOINTS / name / checkpoint.FILE)
        except OSError as error:
            raise UserError(
                f"{name}: is trained, but its results could not be written: {error}; make room or"
                f" mend it, and the same command goes on from {held.folder}"
            ) from error
    if run.before is not None:
        scratch.remove_settled(root, run.before.parent.name, run.before)


def _root() -> Path:
    """The repository, also for a run in a copy of it."""
    return Path(os.environ.get("DVC_ROOT", "."))


def _read(config: Config, name: str) -> Run:
    settings = Settings(
        config.seed,
        config.scale,
        config.optimizer,
        config.bandit,
        config.curriculum,
        machine.prepare(config.compute),
    )
    sources = list(config.sources)
    cfg, bounds = config.regimes[name], config.bounds(name)
    index = REGIMES.index(name)
    region = Region(np.array(bounds.lower), np.array(bounds.upper))
    shards = {source: open_shard(paths.SHARDS / source, paths.TOKENIZER) for source in sources}
    tokenizer = Tokenizer.load(paths.TOKENIZER)
    before = paths.CHECKPOINTS / REGIMES[index - 1] / checkpoint.FILE if index else None
    begin = None
    if isinstance(cfg, Warmup) and cfg.start:
        begin = _root() / cfg.start  # a file that neither git nor DVC takes into a copy
    return Run(
        name,
        config,
        settings,
        Regime(index, region, last_step(cfg, settings.scale.steps)),
        sources,
        shards,
        Data(
            [shard.train for shard in shards.values()],
            [shard.probe for shard in shards.values()],
            tokenizer.byte_lengths,
        ),
        tokenizer,
        config.watch,
        before,
        begin,
    )


def _digests(run: Run) -> dict[str, str]:
    """Digest of every file that the regime reads."""
    files = {"tokenizer": sha256(paths.TOKENIZER)}
    for source, shard in run.shards.items():
        for split in ("train", "probe"):
            files[f"{split}.{source}"] = shard.manifest["splits"][split]["sha256"]
    for name, path, remedy in (
        ("before", run.before, "`dvc repro` makes it"),
        ("start", run.start, "warmup.start must be null or what `andrea import` printed"),
    ):
        if path is not None:
            if not path.is_file():
                raise UserError(f"{path}: no such checkpoint; {remedy}")
            files[name] = sha256(path)
    return files


def _facts(run: Run) -> dict[str, Any]:
    return {
        "regime": run.name,
        "sources": run.sources,
        "scale": asdict(run.settings.scale),
        "machine": run.settings.machine.record(),
        "tokenizer": sha256(paths.TOKENIZER),
        "train": {
            s: shard.manifest["splits"]["train"]["sha256"] for s, shard in run.shards.items()
        },
    }


def _snapshots(run: Run, held: scratch.Scratch) -> Snapshots:
    begun = run.before or run.start
    step = checkpoint.read_note(begun)["state"].get("step") if begun else 0
    first = step if isinstance(step, int) else 0  # `_resume` refuses such a file
    between = snapshot.between(first, run.regime.end_step, run.settings.scale.snapshots)
    return Snapshots(held.folder / snapshot.FOLDER, between)


def _resume(run: Run, held: scratch.Scratch, snapshots: Snapshots) -> tuple[TrainState, Journal]:
    """The state to train on from: where the regime was stopped, or its beginning."""
    scale, k = run.settings.scale, len(run.sources)

    def new() -> TrainState:
        settings = run.settings
        return state.new(scale, settings.optimizer, k, settings.seed, settings.machine.device)

    training, found, refused = resume.load_newest(held, new, snapshots.check)
    for reason in refused:
        print(f"refused: {reason}", file=sys.stderr)
    if found is not None:
        print(f"{run.name}: goes on from step {training.step}, {held.folder}")
        return training, Journal.from_json(found)
    for folder, differing in scratch.others(held).items():
        listed = "; ".join(differing[:8]) + ("; ..." if len(differing) > 8 else "")
        print(
            f"{run.name}: unfinished work in {folder} is of other inputs ({listed}); it stays there"
            " and this run starts fresh",
            file=sys.stderr,
        )
    seen = watch.init(k)
    if run.before is not None:
        note = checkpoint.read_note(run.before)
        _refuse_other(note["facts"], _facts(run), str(run.before))
        checkpoint.load(run.before, training)
        seen = WatchState.from_json(note["journal"]["watch"]).next_regime()
    elif run.start is not None:
        start.start_from(run.start, training, scale)
    elif scale.bigram_init > 0:
        active = run.regime.region.active
        allowed = [s for s, there in zip(run.data.train, active, strict=True) if there]
        losses = bigram_init.apply(training.model, allowed, scale.bigram_init)
        print(f"head start: {losses[-1]:.3f} nats per token from token pairs alone")
    return training, Journal(seen, history.Window.empty(k))


def _eyes(run: Run) -> Eyes:
    texts = (run.tokenizer.decode(stream[:WORD_TOKENS]) for stream in run.data.train)
    prompts = [
        np.concatenate([[BOS], run.tokenizer.encode(prompt)]).astype(np.int64)
        for prompt in run.watch.prompts
    ]
    return Eyes(
        run.watch,
        run.config.limits.on_degenerate,
        run.sources,
        [(paths.SHARDS / source / "train.bin").as_posix() for source in run.sources],
        prompts,
        original.vocabulary(texts),
        run.tokenizer.decode,
        BOS,
    )


def _write(run: Run, training: TrainState, journal: Journal, snapshots: Snapshots) -> None:
    with whole_folder(paths.CHECKPOINTS / run.name) as folder:
        seen = {"watch": journal.watch.next_regime().to_json()}
        checkpoint.save(folder / checkpoint.FILE, training, _facts(run), seen)
        snapshots.copy_to(folder / snapshot.FOLDER)
    with whole_folder(paths.REPORTS / run.name) as folder:
        history.write_csv(folder / "history.csv", journal.rows, history.columns(run.sources))
        phases = [history.phase_row(phase, run.sources) for phase in journal.phases]
        history.write_csv(folder / "phases.csv", phases, history.phase_columns(run.sources))
        watch_report.write(folder, journal.watch, run.sources)
        sizes = [batches.count(stream, run.settings.scale.context) for stream in run.data.train]
        figures = history.summary(training, journal.rows, journal.phases, run.sources, sizes)
        figures["excluded"] = [run.sources[source] for source in training.excluded]
        write_json(
            folder / "metrics.json", {**figures, "watch": watch_report.summary(journal.watch)}
        )
        write_json(folder / "machine.json", run.settings.machine.record())


def _refuse_other(found: dict[str, Any], needed: dict[str, Any], path: str) -> None:
    for key in ("sources", "scale", "tokenizer", "train"):
        if found[key] != needed[key]:
            raise UserError(f"{path}: made with other {key}; run `dvc repro` from the start")
