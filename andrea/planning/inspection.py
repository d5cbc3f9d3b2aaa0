"""What would be read of each source: documents, bytes, tokens, copies, overlap with held-out text.

Held-out documents are read first and kept as signatures, then training documents stream by once.
"""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from andrea.common.errors import UserError
from andrea.config.text import Documents as Settings
from andrea.config.text import Source
from andrea.config.tree import Config
from andrea.corpus import near, personal, splits
from andrea.corpus import text as source_text
from andrea.corpus.documents import digest
from andrea.corpus.formats import opened, plain
from andrea.corpus.formats.documents import recognise
from andrea.corpus.formats.registry import FORMATS
from andrea.corpus.near import Signatures
from andrea.corpus.text import Text
from andrea.planning import guess
from andrea.planning.estimate import Length, plan
from andrea.planning.guess import TEXT_BYTES_PER_TOKEN
from andrea.planning.inspected import Inspected, Inspection, Read
from andrea.planning.repeats import read_too_often
from andrea.tokens.encoding import batches
from andrea.tokens.tokenizer import Tokenizer

SAMPLES = 5
TOLD_EVERY = 100_000  # training documents
Tell = Callable[[str], None]


def inspect(
    config: Config,
    names: Sequence[str],
    tokenizer: Tokenizer | None,
    *,
    look_for_personal: bool = False,
    tell: Tell = lambda message: None,
) -> Inspection:
    """Read the text of the named sources as the stages would; nothing is written.

    Kept in memory are a digest of every document, and the signatures of held-out ones. Without a
    tokenizer, tokens are estimated from bytes. `tell` is given what is being read.

    Raises:
        UserError: a name is not in `sources`.
    """
    named = config.sources
    for name in names:
        if name not in named:
            raise UserError(f"source {name!r} is not in `sources`, which has {', '.join(named)}")
    reading = _Reading(config.documents, tokenizer, look_for_personal, tell)
    reading.read({name: named[name] for name in names})
    lengths = {name: Length(1, counted=False) for name in named}
    for name, one in reading.sources.items():
        lengths[name] = Length(one.train.tokens, counted=tokenizer is not None)
    planned = plan(config, lengths)
    for name, one in reading.sources.items():
        one.epochs = planned.epochs[name]
        one.too_often = read_too_often(config, one.epochs)
    vocabulary = None if tokenizer is None else tokenizer.vocabulary_size
    return Inspection(reading.sources, reading.errors, vocabulary, planned.scale.vocabulary)


@dataclass
class _Sides:
    """Of one source: both texts as the stage `documents` reads them, and what it holds out."""

    train: Text
    evaluation: Text | None
    val: frozenset[bytes]


@dataclass
class _Reading:
    """What is known while sources are read; `owners` are of the held-out documents, in order."""

    settings: Settings
    tokenizer: Tokenizer | None
    look_for_personal: bool
    tell: Tell
    sources: dict[str, Inspected] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    sides: dict[str, _Sides] = field(default_factory=dict)
    owners: list[str] = field(default_factory=list)
    met: set[int] = field(default_factory=set)
    known: set[bytes] = field(default_factory=set)

    def read(self, named: Mapping[str, Source]) -> None:
        """Read each, and note why one cannot be read."""
        signatures = near.signatures(self._all_held_out(named), self.settings.near_threshold)
        for name in self.sides:
            try:
                self._train(name, signatures)
            except (UserError, OSError) as error:
                self._drop(name, error)
        for place in self.met:
            if self.owners[place] in self.sources:
                self.sources[self.owners[place]].copies.val_met += 1

    def _drop(self, name: str, error: Exception) -> None:
        self.errors[name] = " ".join(str(error).split())
        self.sources.pop(name, None)

    def _all_held_out(self, named: Mapping[str, Source]) -> Iterator[str]:
        for name, source in named.items():
            self.tell(f"{name}: held-out text")
            try:
                yield from self._held_out(name, source)
            except (UserError, OSError) as error:
                self._drop(name, error)

    def _held_out(self, name: str, source: Source) -> Iterator[str]:
        path = source.train_path
        if not path.exists():
            raise UserError(guess.not_there(name, source))
        train, evaluation = source_text.of(source, self.settings)
        kind = source.format or recognise(path, source.field)
        files, over = _files(path, kind)
        one = Inspected(kind, files, passed_over=over)
        one.personal = {} if self.look_for_personal else None
        share = self.settings.val_share if evaluation is None else None
        held_out = evaluation or train
        val = splits.held_out(map(digest, held_out), share, held_out.path)
        self.sources[name] = one
        texts: Iterator[str] = (document for document in train if digest(document) in val)
        if evaluation is not None:
            texts = self._documents(evaluation, one)
        different: set[bytes] = set()
        for batch in batches(texts):
            kept = [document for document in batch if _is_new(digest(document), different)]
            self._count(kept, one.val)
            self.owners += [name] * len(kept)
            yield from kept
        self.sides[name] = _Sides(train, evaluation, val)

    def _train(self, name: str, signatures: Signatures) -> None:
        one, sides = self.sources[name], self.sides[name]
        lengths = array("q")
        samples: list[tuple[bytes, str]] = []
        different: set[bytes] = set()
        last = passed = 0
        self.tell(f"{name}: training text")
        for batch in batches(self._documents(sides.train, one)):
            passed += len(batch)
            if passed - last >= TOLD_EVERY:
                last = passed
                self.tell(f"{name}: {passed:,} training documents")
            kept = []
            for document in batch:
                key = digest(document)
                if self._is_kept(name, document, key, different, signatures):
                    kept.append(document)
                    samples.append((key, document))
            samples = heapq.nsmallest(SAMPLES, samples)
            lengths.extend(self._count(kept, one.train))
        one.samples = [document for _, document in samples]
        if not lengths:
            raise UserError(f"{sides.train.path}: {_why_none_is_left(sides, one, len(different))}")
        if len(lengths) == 1:
            raise UserError(
                f"{sides.train.path}: one document is left for training, and probes need one of"
                " their own; add documents"
            )
        one.shortest_bytes, one.longest_bytes = min(lengths), max(lengths)
        one.median_bytes = int(np.median(np.frombuffer(lengths, dtype=np.int64)))
        self.known |= different

    def _is_kept(
        self, name: str, document: str, key: bytes, different: set[bytes], signatures: Signatures
    ) -> bool:
        """Whether a run would train on a document; counts what it is a copy of."""
        copies, sides = self.sources[name].copies, self.sides[name]
        held_out = key in sides.val
        if held_out and sides.evaluation is None:
            return False
        if not _is_new(key, different):
            copies.within += 1
            return False
        places = [match.place for match in near.matches(document, signatures)]
        self.met.update(places)
        own = any(self.owners[place] == name for place in places)
        copies.near_other_val += any(self.owners[place] != name for place in places)
        copies.across += key in self.known
        copies.of_val += held_out
        copies.near_val += own and not held_out
        return not held_out and not (own and self.settings.near_duplicates == "remove")

    def _documents(self, side: Text, one: Inspected) -> Iterator[str]:
        """As the stages read them, with a count of personal data where it is asked for."""
        for document in replace(side, masked=False):
            if side.masked or one.personal is not None:
                masked, counts = personal.mask(document)
                if one.personal is not None:
                    for mark, count in counts.items():
                        one.personal[mark] = one.personal.get(mark, 0) + count
                document = masked if side.masked else document
            yield document

    def _count(self, kept: list[str], read: Read) -> list[int]:
        """Bytes of each document; adds them up."""
        sizes = [len(document.encode()) for document in kept]
        read.documents += len(kept)
        read.bytes += sum(sizes)
        if self.tokenizer is None:
            read.tokens = round(read.bytes / TEXT_BYTES_PER_TOKEN) + read.documents
        else:
            read.tokens += sum(len(ids) + 1 for ids in self.tokenizer.encode_batch(kept))
        return sizes


def _why_none_is_left(sides: _Sides, one: Inspected, different: int) -> str:
    """Why none is left of `different` documents, those that were split off apart; what to do."""
    if sides.evaluation is None and not different:
        held_out = one.val.documents
        many = f"all {held_out} different documents are" if held_out > 1 else "the only one is"
        return (
            f"no document is left for training: {many} held out; add documents, or name held-out"
            " text of your own (`eval`)"
        )
    why = []
    if one.copies.of_val:
        why.append(f"{one.copies.of_val} also stand in {(sides.evaluation or sides.train).path}")
    if one.copies.near_val:
        why.append(
            f"{one.copies.near_val} are near held-out ones (documents.near_duplicates=remove)"
        )
    return (
        f"no document is left for training: of {different} different documents {' and '.join(why)};"
        " add others or take them out of the held-out text"
    )


def _is_new(key: bytes, different: set[bytes]) -> bool:
    """Whether a digest is met for the first time; from then on it is not."""
    before = len(different)
    different.add(key)
    return len(different) > before


def _files(path: Path, kind: str) -> tuple[int, dict[str, int]]:
    """Count the files that are read, and those passed over by ending.

    A single file is one, and so is a git repository, of which no file is looked at. Hidden files
    and links are neither read nor counted.
    """
    form = FORMATS[kind]
    if not path.is_dir() or not form.endings:
        return 1, {}
    beside = form.beside if isinstance(form, plain.Format) else ()
    names = {file: plain.name(file) for file in plain.inside(path)}
    read = sum(name.endswith(form.endings) for name in names.values())
    over = (file for file, name in names.items() if not name.endswith((*form.endings, *beside)))
    return read, dict(sorted(Counter(map(_ending, over)).items()))


def _ending(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    packed = suffixes[-1:] and suffixes[-1] in opened.SUFFIXES
    return "".join(suffixes[-2:] if packed else suffixes[-1:]) or "no ending"
