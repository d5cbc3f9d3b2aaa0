"""Measure the checkpoints of the three regimes on held-out text, beside the baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from andrea.common import paths
from andrea.common.files import read_json, sha256, whole_folder, write_json
from andrea.common.seeds import Purpose
from andrea.config.evaluation import Evaluate
from andrea.config.training import REGIMES
from andrea.config.tree import Config
from andrea.corpus.formats import documents
from andrea.evaluation import memorization
from andrea.evaluation import tables as report
from andrea.evaluation.bits_per_byte import score
from andrea.evaluation.memorization import Memorization
from andrea.evaluation.summary import over_sources, shares
from andrea.mixture.sampler import permuted
from andrea.model.generate import generate
from andrea.model.gpt import GPT
from andrea.shell.progress import Progress
from andrea.shell.stage import run
from andrea.tokens.encoding import encode_documents
from andrea.tokens.shards import Shard, open_shard
from andrea.tokens.tokenizer import Tokenizer
from andrea.training import batches, checkpoint, machine
from andrea.training.machine import Machine


def evaluate(config: Config) -> None:
    """Write `metrics.json`, its tables, `samples.md` and `checkpoints.json`: what was measured."""
    cfg, sources = config.evaluate, list(config.sources)
    on = machine.prepare(config.compute)
    tokenizer = Tokenizer.load(paths.TOKENIZER)
    shards = {source: open_shard(paths.SHARDS / source, paths.TOKENIZER) for source in sources}
    held_out = {source: shard.val for source, shard in shards.items()}
    out_of_domain = encode_documents(documents.read(Path(cfg.ood)), tokenizer)
    streams = {**held_out, "ood": np.concatenate(list(out_of_domain))}
    prompts = np.concatenate(
        [
            report.prompts(stream, cfg.sample_prompt_tokens, cfg.samples)
            for stream in held_out.values()
        ]
    )
    model = GPT(config.scale).to(on.device)
    bits: dict[str, dict[str, float]] = {}
    recited: dict[str, dict[str, Memorization]] = {}
    samples = {}
    measured = {}
    with Progress("evaluate", len(REGIMES) * (len(streams) + 1)) as progress:
        for name in REGIMES:
            file = paths.CHECKPOINTS / name / checkpoint.FILE
            checkpoint.load_weights(file, model)
            measured[name] = sha256(file)
            bits[name] = {}
            for source, stream in streams.items():
                found = score(model, stream, tokenizer.byte_lengths, cfg.rows, on)
                bits[name][source] = found
                progress.advance(f"{name} {source} {found:.3f} bits per byte")
            given = checkpoint.read_note(file)["state"]["sampler"]["cursors"]
            recited[name] = _recited(model, shards, given, cfg, config.seed, on)
            progress.advance(f"{name} passages recited")
            with on.autocast():
                samples[name] = generate(
                    model, prompts, cfg.sample_tokens, cfg.sample_temperature,
                    cfg.sample_top_k, (config.seed, Purpose.SAMPLE_TEXT),
                )  # fmt: skip
    baselines = read_json(paths.REPORTS / "baselines" / "metrics.json")
    regimes = {n: read_json(paths.REPORTS / n / "metrics.json") for n in REGIMES}
    metrics = {
        **{name: over_sources(by_source, sources) for name, by_source in bits.items()},
        "polish_minus_firehose": {s: bits["polish"][s] - bits["firehose"][s] for s in streams},
        "epochs": regimes["polish"]["epochs"],
        **shares(regimes, config.tokenizer.weights, sources),
        "memorization": {n: memorization.overall(found) for n, found in recited.items()},
    }
    table = [
        {"regime": n, "source": s, "epochs": regimes[n]["epochs"][s], **asdict(found)}
        for n, by_source in recited.items()
        for s, found in by_source.items()
    ]
    with whole_folder(paths.REPORTS / "evaluate") as folder:
        write_json(folder / "metrics.json", metrics)
        write_json(folder / "checkpoints.json", measured)
        report.write_table(folder / "bits_per_byte.csv", bits, baselines, list(streams))
        report.write_memorization(folder / "memorization.csv", table)
        report.write_samples(folder / "samples.md", sources, prompts, samples, tokenizer)
    print(report.summary_line(metrics, baselines))


def read_sequences(seed: int, source: int, given: int, size: int) -> NDArray[np.int64]:
    """Sequences of a source that training has given, each once.

    Args:
        seed: of the run.
        source: index of the source.
        given: sequences so far, over all epochs.
        size: sequences in the source.
    """
    ranks = np.arange(min(given, size))
    return permuted(seed, source, 0, ranks, size) if given else ranks


def _recited(
    model: GPT,
    shards: Mapping[str, Shard],
    given: Sequence[int],
    cfg: Evaluate,
    seed: int,
    on: Machine,
) -> dict[str, Memorization]:
    """Passages recited by source, of which training has given so many sequences each."""
    found = {}
    for index, (source, shard) in enumerate(shards.items()):
        size = batches.count(shard.train, model.context)
        read = read_sequences(seed, index, given[index], size)
        found[source] = memorization.measure(
            model, shard.train, read, shard.val,
            cfg.memorization_prompts, (seed, index), cfg.rows, on,
        )  # fmt: skip
    return found


if __name__ == "__main__":
    run(evaluate)
