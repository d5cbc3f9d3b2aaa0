"""Learn the alphabet from weighted training text, and compare it with BPE and Unigram."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from andrea.common import paths
from andrea.common.files import whole_folder, write_json
from andrea.config.tree import Config
from andrea.corpus import documents as text
from andrea.corpus import splits
from andrea.shell import stage as _shell
from andrea.tokens import comparison, learning
from andrea.tokens.tokenizer import build


def tokenizer(config: Config) -> None:
    """Write `tokenizer.json` and its metrics."""
    named, settings, of_shards = config.sources, config.tokenizer, config.documents
    segments = config.scale.segments
    read = {name: text.of(source, of_shards) for name, source in named.items()}
    val = {name: splits.held_out(*both, of_shards.val_share) for name, both in read.items()}

    def held_out() -> Mapping[str, Iterable[str]]:
        return {name: splits.held_out_documents(*both, val[name]) for name, both in read.items()}

    samples = comparison.samples(named, settings)
    counts = {}
    for name, (train, _) in read.items():
        training = splits.training_documents(train, val[name])
        counts[name] = learning.count(samples[name].passing(training))
    sample = [document for name in named for document in samples[name].documents()]
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
    _shell.run(tokenizer)
