"""Learn the alphabet from weighted training text, and compare it with BPE and Unigram."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from andrea.common import paths
from andrea.common.files import whole_folder, write_json
from andrea.corpus.documents import open_documents
from andrea.shell.stage import run
from andrea.tokens import comparison, learning
from andrea.tokens.tokenizer import build

if TYPE_CHECKING:
    from andrea.config.tree import Config


def tokenizer(config: Config) -> None:
    """Write `tokenizer.json` and its metrics."""
    settings, segments = config.tokenizer, config.scale.segments
    documents = {name: open_documents(paths.DOCUMENTS / name) for name in config.sources}

    def held_out() -> Mapping[str, Iterable[str]]:
        return {name: one.held_out() for name, one in documents.items()}

    samples = comparison.samples(documents, settings)
    counts = {
        name: learning.count(samples[name].passing(one.training()))
        for name, one in documents.items()
    }
    sample = [document for name in documents for document in samples[name].documents()]
    built = build(learning.learn(learning.mix(counts, settings.weights), segments, settings))
    compared = comparison.compare(sample, held_out, segments, settings)
    metrics = {
        "vocabulary": built.get_vocab_size(),
        "tokenizer": comparison.measure(built, held_out(), settings.weights)
        | {"sample_slots_used": comparison.slots_used(built, sample)},
        "comparison": compared,
    }
    with whole_folder(paths.TOKENIZER.parent) as folder:
        built.save(str(folder / paths.TOKENIZER.name))
    with whole_folder(paths.REPORTS / "tokenizer") as folder:
        write_json(folder / "metrics.json", metrics)


if __name__ == "__main__":
    run(tokenizer)
