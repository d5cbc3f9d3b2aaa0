"""The table of token vectors."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from andrea.geometry.measure.run import INITIAL, LAST, FinishedRun
from andrea.geometry.measure.text import counts_read, documents, readable, texts
from andrea.geometry.vectors.measure import (
    closeness,
    drift,
    embeddings,
    frequency,
    relations,
    spectrum,
)
from andrea.geometry.vectors.measure.result import Chosen, Related, Vectors, Words

DICTIONARY = "dictionary"  # the source whose documents are definitions
NO_DICTIONARY = f"no source is called {DICTIONARY}, so no words are known to be related"

Table = NDArray[np.float32]


def measure(run: FinishedRun) -> Vectors:
    """Look at the token tables of all checkpoints."""
    tables, counts = run.tables(), counts_read(run)
    bins = frequency.bins(counts)
    count = min(run.cfg.components, run.scale.d_model)
    words, chosen = _words(run, tables[-1])
    entries = relations.entries(documents(run, DICTIONARY)) if DICTIONARY in run.shards else []
    return Vectors(
        pieces=readable(run, range(run.scale.vocabulary)),
        counts=counts,
        bins=bins,
        spectra=tuple(spectrum.spectrum(table) for table in tables),
        components=tuple(spectrum.components(table, counts, count) for table in tables),
        cosines=tuple(spectrum.mean_cosines(table, bins) for table in tables),
        movement=drift.movement(tables, bins),
        similarity=drift.similarity(tables),
        drift=tuple(drift.drift(a, b) for a, b in [*pairwise(tables), (tables[0], tables[-1])]),
        words=words,
        chosen=chosen,
        entries=len(entries),
        related=_related(run, {INITIAL: tables[0], LAST: tables[-1]}, counts, entries),
        note="" if DICTIONARY in run.shards else NO_DICTIONARY,
    )


def _words(run: FinishedRun, table: Table) -> tuple[Words, Chosen]:
    cfg, encode = run.cfg, run.tokenizer.encode_batch
    found = frequency.count_words(texts(run))
    frequent = frequency.most_frequent(found, cfg.frequent_words)
    if len(frequent) < len(cfg.words):  # text that hardly puts spaces between words
        frequent = list(dict.fromkeys([*frequent, *cfg.words]))
    spelled = embeddings.spell(frequent, encode)
    places = embeddings.word_vectors(table, spelled)
    words = Words(
        tuple(frequent),
        np.array([found[word] for word in frequent], dtype=np.int64),
        np.array([len(ids) for ids in spelled], dtype=np.int64),
        embeddings.draw_map(places, cfg.map, run.facts.seed),
        embeddings.neighbours(places, np.arange(len(frequent)), cfg.neighbours),
    )
    own = embeddings.spell(cfg.words, encode)
    vectors = embeddings.word_vectors(table, own)
    apart = [[embeddings.separation(one, other) for other in vectors] for one in vectors]
    euclidean, cosine = np.array(apart).transpose(2, 0, 1)
    others = [word for word in frequent if word not in cfg.words]
    known = [frequent.index(word) for word in others]
    near = embeddings.neighbours(
        np.concatenate([vectors, places[known]]), np.arange(len(own)), cfg.neighbours
    )
    names = [*cfg.words, *others]
    return words, Chosen(
        cfg.words,
        tuple(readable(run, ids.tolist()) for ids in own),
        euclidean,
        cosine,
        tuple(tuple(names[place] for place in row) for row in near.ids.tolist()),
    )


def _related(
    run: FinishedRun,
    tables: dict[str, Table],
    counts: NDArray[np.int64],
    entries: list[relations.Entry],
) -> tuple[Related, ...]:
    pairs, most, encode = relations.pairs(entries), run.cfg.pair_tokens, run.tokenizer.encode_batch

    def close(table: Table, same_part: bool) -> closeness.Closeness | None:
        return closeness.closeness(
            table, counts, entries, pairs, encode, most, same_part, run.facts.seed
        )

    return tuple(
        Related(name, same_part, most, close(table, same_part))
        for name, table in tables.items()
        for same_part in (False, True)
        if pairs
    )
