"""Measure the checkpoints of the three regimes on held-out text, beside the baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from andrea.common import paths, tables
from andrea.common.files import read_json, whole_folder, write_json
from andrea.config.training import REGIMES
from andrea.corpus.documents import open_documents
from andrea.evaluation import summary
from andrea.evaluation import tables as report
from andrea.evaluation.run import Texts, measure
from andrea.model.gpt import GPT
from andrea.shell.progress import Progress
from andrea.shell.stage import run
from andrea.tokens.encoding import encode_all
from andrea.tokens.shards import open_shard
from andrea.tokens.tokenizer import Tokenizer
from andrea.training import checkpoint, machine

if TYPE_CHECKING:
    from andrea.config.tree import Config


def evaluate(config: Config) -> None:
    """Write `metrics.json`, its tables, `samples.md` and `checkpoints.json`: what was measured."""
    cfg, sources = config.evaluate, list(config.sources)
    on = machine.prepare(config.compute)
    tokenizer = Tokenizer.load(paths.TOKENIZER)
    shards = {source: open_shard(paths.SHARDS / source, paths.TOKENIZER) for source in sources}
    ood = encode_all(open_documents(paths.OOD).texts("val"), tokenizer)
    texts = Texts(shards, ood, tokenizer.byte_lengths)
    model = GPT(config.scale).to(on.device)
    measured = {}
    with Progress("evaluate", len(REGIMES) * (len(texts.held_out) + 1)) as progress:
        for name in REGIMES:
            file = paths.CHECKPOINTS / name / checkpoint.FILE
            measured[name] = measure(file, model, texts, cfg, config.seed, on, progress.advance)
    baselines = read_json(paths.REPORTS / "baselines" / "metrics.json")
    regimes = {name: read_json(paths.REPORTS / name / "metrics.json") for name in REGIMES}
    metrics = summary.metrics(measured, regimes, config.tokenizer.weights, sources)
    samples = {name: one.samples for name, one in measured.items()}
    with whole_folder(paths.REPORTS / "evaluate") as folder:
        write_json(folder / "metrics.json", metrics)
        write_json(folder / "checkpoints.json", {n: one.sha256 for n, one in measured.items()})
        tables.write(folder / "bits_per_byte.csv", report.bits_per_byte(measured, baselines))
        tables.write(folder / "memorization.csv", report.memorization(measured, regimes))
        report.write_samples(folder / "samples.md", sources, texts.prompts(cfg), samples, tokenizer)
    print(report.summary_line(metrics, baselines))


if __name__ == "__main__":
    run(evaluate)
