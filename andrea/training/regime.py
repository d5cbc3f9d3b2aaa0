"""One regime as a stage: checkpoint and shards in, checkpoint and reports out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from andrea.common import paths
from andrea.common.codec import decode, encode
from andrea.common.errors import UserError
from andrea.common.files import sha256, sync_file, whole_folder, write_json
from andrea.config.training import REGIMES, Watch, last_step
from andrea.mixture.simplex import Region
from andrea.model import bigram_init
from andrea.scratch import folder as scratch
from andrea.scratch import inputs, resume
from andrea.shell.progress import say, warn
from andrea.tokens.shards import Shard, open_shard
from andrea.tokens.tokenizer import BOS, Tokenizer
from andrea.training import batches, checkpoint, history, machine, snapshots, start, state, watch
from andrea.training import journal as journals
from andrea.training.journal import Journal
from andrea.training.run import Run
from andrea.training.session import Session
from andrea.training.snapshots import Snapshots
from andrea.training.state import TrainState
from andrea.training.tracker import Tracker
from andrea.training.watch import Watcher, WatchState
from andrea.watching import original, recorded

if TYPE_CHECKING:  # all sections stand in it, and most of them decide nothing here
    from andrea.config.tree import Config

WORD_TOKENS = 1 << 14  # of each source, that the watch learns English words from


def train(config: Config, name: str, tracker: AbstractContextManager[Tracker]) -> None:
    """Run the regime `name`, from the checkpoint of the one before or from where it was stopped.

    Args:
        tracker: entered for the time of the steps.

    Raises:
        UserError: a file that it reads is missing, damaged or of another run; another process
            trains the same; or whatever `Session.run_on` raises.
    """
    run, tokenizer, shards = _open(config, name)
    begin = _begin(config, run.index)
    files = _digests(run.index, shards, begin)
    facts = _facts(run, files)
    fresh = begin is None and run.scale.bigram_init > 0
    deciding = inputs.describe(deciding_values(run, config.watch, fresh, files), Path(__file__))
    with scratch.hold(scratch.root(), name, deciding) as held:
        taken = _snapshots(run, begin, held)
        training, journal = _resume(run, facts, begin, held, taken)
        say(f"{name}: steps {training.step} to {run.end_step} on {run.machine.record()}")
        watcher = _watcher(config, run, tokenizer) if config.watch.enabled else None
        Session(
            run, training, journal, watcher, tokenizer.decode, held,
            config.scratch.checkpoint_every, taken, tracker,
        ).run_on()  # fmt: skip
        try:
            _write(run, training, journal, taken, facts)
            held.finish(paths.CHECKPOINTS / name / checkpoint.FILE)
        except OSError as error:
            raise UserError(
                f"{name}: is trained, but its results could not be written: {error}; make room or"
                f" mend it, and the same command goes on from {held.folder}"
            ) from error
    if run.index and begin is not None:
        scratch.remove_settled(scratch.root(), begin.parent.name, begin)


def deciding_values(run: Run, cfg: Watch, fresh: bool, files: Mapping[str, str]) -> dict[str, Any]:
    """All but the code that decides the bytes of a result, for `inputs.describe`.

    Args:
        cfg: what is looked at; whether an alarm halts or is reported changes no byte.
        fresh: whether the weights begin with bigram init.
        files: name to digest of every file that is read, in the order of the sources.
    """
    return {
        "seed": run.seed,
        "scale": run.scale,
        "optimizer": run.optimizer,
        "bandit": run.bandit,
        "curriculum": run.curriculum,
        "machine": run.machine.record(),
        "regime": {
            "index": run.index,
            "end_step": run.end_step,
            "floors": run.region.lower,
            "caps": run.region.upper,
            "bigram_init": fresh,
        },
        "watch": encode(cfg) | {"on_cliff": "exclude" if cfg.on_cliff == "exclude" else "report"},
        "data": {**files, "order": list(files)},
    }


def _open(config: Config, regime: str) -> tuple[Run, Tokenizer, dict[str, Shard]]:
    on = machine.prepare(config.compute)
    bounds = config.bounds(regime)
    shards = {
        source: open_shard(paths.SHARDS / source, paths.TOKENIZER) for source in config.sources
    }
    tokenizer = Tokenizer.load(paths.TOKENIZER)
    run = Run(
        seed=config.seed,
        scale=config.scale,
        optimizer=config.optimizer,
        bandit=config.bandit,
        curriculum=config.curriculum,
        machine=on,
        sources=list(config.sources),
        train=[shard.train for shard in shards.values()],
        probe=[shard.probe for shard in shards.values()],
        byte_lengths=tokenizer.byte_lengths,
        index=REGIMES.index(regime),
        region=Region(np.array(bounds.lower), np.array(bounds.upper)),
        end_step=last_step(config.regimes[regime], config.scale.steps),
    )
    return run, tokenizer, shards


def _begin(config: Config, index: int) -> Path | None:
    """The checkpoint that a regime begins from; None for new weights."""
    if index:
        return paths.CHECKPOINTS / REGIMES[index - 1] / checkpoint.FILE
    # `warmup.start` is a file that neither git nor DVC takes into a copy of the repository.
    return paths.repository() / config.warmup.start if config.warmup.start else None


def _digests(index: int, shards: Mapping[str, Shard], begin: Path | None) -> dict[str, str]:
    """Digest of every file that the regime reads."""
    files = {"tokenizer": sha256(paths.TOKENIZER)}
    for source, shard in shards.items():
        for split in ("train", "probe"):
            files[f"{split}.{source}"] = shard.manifest["splits"][split]["sha256"]
    if begin is not None:
        if not begin.is_file():
            remedy = "warmup.start must be null or what `andrea import` printed"
            remedy = "`dvc repro` makes it" if index else remedy
            raise UserError(f"{begin}: no such checkpoint; {remedy}")
        files["before" if index else "start"] = sha256(begin)
    return files


def _facts(run: Run, files: Mapping[str, str]) -> dict[str, Any]:
    """What a reader of the checkpoint must know."""
    return {
        "regime": run.name,
        "sources": list(run.sources),
        "scale": encode(run.scale),
        "machine": run.machine.record(),
        "tokenizer": files["tokenizer"],
        "train": {source: files[f"train.{source}"] for source in run.sources},
    }


def _snapshots(run: Run, begin: Path | None, held: scratch.Scratch) -> Snapshots:
    step = checkpoint.read_note(begin)["state"].get("step") if begin else 0
    first = step if isinstance(step, int) else 0  # `_resume` refuses such a file
    between = snapshots.between(first, run.end_step, run.scale.snapshots)
    return Snapshots(held.folder / snapshots.FOLDER, between)


def _resume(
    run: Run, facts: Mapping[str, Any], begin: Path | None, held: scratch.Scratch, taken: Snapshots
) -> tuple[TrainState, Journal]:
    """The state to train on from: where the regime was stopped, or its beginning."""
    name, k = run.name, len(run.sources)

    def new() -> TrainState:
        return state.new(run.scale, run.optimizer, k, run.seed, run.machine.device)

    def load(path: Path) -> tuple[TrainState, Journal]:
        training, journal = journals.load(path, new, held)
        taken.check(training.step)
        return training, journal

    stopped, refused = resume.load_newest(held, load)
    for reason in refused:
        warn(f"refused: {reason}")
    if stopped is not None:
        say(f"{name}: goes on from step {stopped[0].step}, {held.folder}")
        return stopped
    for folder, differing in scratch.others(held).items():
        listed = "; ".join(differing[:8]) + ("; ..." if len(differing) > 8 else "")
        warn(
            f"{name}: unfinished work in {folder} is of other inputs ({listed}); it stays there"
            " and this run starts fresh"
        )
    training, watched = new(), watch.init(k)
    if begin is None:
        if run.scale.bigram_init > 0:
            active = zip(run.train, run.region.active, strict=True)
            allowed = [stream for stream, there in active if there]
            losses = bigram_init.apply(training.model, allowed, run.scale.bigram_init)
            say(f"bigram init: {losses[-1]:.3f} nats per token from token pairs alone")
    elif run.index:
        note = checkpoint.read_note(begin)
        for key in ("sources", "scale", "tokenizer", "train"):
            if note["facts"][key] != facts[key]:
                raise UserError(f"{begin}: made with other {key}; run `dvc repro` from the start")
        checkpoint.load(begin, training)
        watched = decode(note["journal"]["watch"], WatchState, "journal.watch").next_regime()
    else:
        start.start_from(begin, training, run.scale)
    return training, Journal(watched, history.Window.empty(k))


def _watcher(config: Config, run: Run, tokenizer: Tokenizer) -> Watcher:
    texts = (tokenizer.decode(stream[:WORD_TOKENS]) for stream in run.train)
    prompts = [
        np.concatenate([[BOS], tokenizer.encode(prompt)]).astype(np.int64)
        for prompt in config.watch.prompts
    ]
    shards = [(paths.SHARDS / source / "train.bin").as_posix() for source in run.sources]
    words = original.vocabulary(texts)
    on_degenerate = config.limits.on_degenerate
    return Watcher(config.watch, on_degenerate, shards, prompts, words, tokenizer.decode, BOS)


def _write(
    run: Run, training: TrainState, journal: Journal, taken: Snapshots, facts: Mapping[str, Any]
) -> None:
    with whole_folder(paths.CHECKPOINTS / run.name) as folder:
        file = folder / checkpoint.FILE
        checkpoint.save(file, training, facts, {"watch": encode(journal.watch.next_regime())})
        sync_file(file)
        taken.copy_to(folder / snapshots.FOLDER)
    with whole_folder(paths.REPORTS / run.name) as folder:
        history.write(folder, journal.rows, journal.phases, run.sources)
        recorded.write(folder, journal.watch.recorded(), run.sources)
        sizes = [batches.count(stream, run.scale.context) for stream in run.train]
        summary = history.summary(training, journal.rows, journal.phases, run.sources, sizes)
        summary["excluded"] = [run.sources[source] for source in training.excluded]
        summary["watch"] = journal.watch.recorded().summary()
        write_json(folder / "metrics.json", summary)
        write_json(folder / "machine.json", run.machine.record())
