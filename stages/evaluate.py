"""Measure the checkpoints of the three regimes on held-out text, beside the baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from andrea import paths
from andrea.config import regime, scale
from andrea.config import sources as source_config
from andrea.config.compute import Compute
from andrea.config.evaluate import Evaluate
from andrea.config.reading import section
from andrea.config.tokenizer import Tokenizer as TokenizerConfig
from andrea.evaluation.bits_per_byte import score
from andrea.evaluation.summary import over_sources, shares
from andrea.files import read_json, whole_folder, write_json
from andrea.model.generate import generate
from andrea.model.gpt import GPT
from andrea.report import evaluation as report
from andrea.report.progress import Progress
from andrea.seeds import Purpose
from andrea.text import sources as text
from andrea.text.shards import encode_documents, open_shard
from andrea.text.tokenizer import Tokenizer
from andrea.training import checkpoint, machine
from stages._shell import run


def evaluate(params: dict[str, Any]) -> None:
    """Write `metrics.json`, `bits_per_byte.csv` and `samples.md`."""
    cfg = section(params, "evaluate", Evaluate)
    on = machine.prepare(section(params, "compute", Compute))
    sources = list(source_config.read(params))
    tokenizer = Tokenizer.load(paths.TOKENIZER)
    held_out = {s: open_shard(paths.SHARDS / s, paths.TOKENIZER).val for s in sources}
    out_of_domain = encode_documents(text.read(Path(cfg.ood)), tokenizer)
    streams = {**held_out, "ood": np.concatenate(list(out_of_domain))}
    prompts = np.concatenate(
        [
            report.prompts(stream, cfg.sample_prompt_tokens, cfg.samples)
            for stream in held_out.values()
        ]
    )
    model = GPT(scale.active(params)).to(on.device)
    bits: dict[str, dict[str, float]] = {}
    samples = {}
    with Progress("evaluate", len(regime.NAMES) * len(streams)) as progress:
        for name in regime.NAMES:
            checkpoint.load_weights(paths.CHECKPOINTS / name / checkpoint.FILE, model)
            bits[name] = {}
            for source, stream in streams.items():
                found = score(model, stream, tokenizer.byte_lengths, cfg.rows, on)
                bits[name][source] = found
                progress.advance(f"{name} {source} {found:.3f} bits per byte")
            with on.autocast():
                samples[name] = generate(
                    model, prompts, cfg.sample_tokens, cfg.sample_temperature,
                    cfg.sample_top_k, (params["seed"], Purpose.SAMPLE_TEXT),
                )  # fmt: skip
    baselines = read_json(paths.REPORTS / "baselines" / "metrics.json")
    regimes = {n: read_json(paths.REPORTS / n / "metrics.json") for n in regime.NAMES}
    weights = section(params, "tokenizer", TokenizerConfig).weights
    metrics = {
        **{name: over_sources(by_source, sources) for name, by_source in bits.items()},
        "polish_minus_firehose": {s: bits["polish"][s] - bits["firehose"][s] for s in streams},
        "epochs": regimes["polish"]["epochs"],
        **shares(regimes, weights, sources),
    }
    with whole_folder(paths.REPORTS / "evaluate") as folder:
        write_json(folder / "metrics.json", metrics)
        report.write_table(folder / "bits_per_byte.csv", bits, baselines, list(streams))
        report.write_samples(folder / "samples.md", sources, prompts, samples, tokenizer)
    print(report.summary_line(metrics, baselines))


if __name__ == "__main__":
    run(evaluate)
