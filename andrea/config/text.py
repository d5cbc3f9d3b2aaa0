"""Sections `sources`, `documents`, `ood` and `tokenizer`: text, and its way into tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, get_args

from andrea.common.codec import Range
from andrea.common.errors import UserError

Format = Literal[
    "jsonl", "parquet", "arrow", "chat", "text", "gutenberg", "irc", "git-docs", "git-docstrings",
    "git-commits", "dictionary",
]  # fmt: skip
LONGEST_NAME = 64  # of a source: it names folders and metrics
FORMATS: tuple[str, ...] = get_args(Format)


@dataclass(frozen=True)
class Hub:
    """A data set of the Hugging Face hub, as `andrea fetch` brings it."""

    name: str  # `owner/name`, or a local folder
    # A commit, 40 hex digits; null for a local folder, and where none is known yet.
    revision: str | None = None
    subset: str | None = None  # also known as the configuration
    train_split: str = "train"
    eval_split: str | None = None  # for evaluation; null where held-out text is split off


@dataclass(frozen=True)
class Source:
    """Text of one source; without `eval`, held-out text is split off by document hash."""

    path: str  # a folder under data/raw, which DVC watches
    train: str  # a file or folder inside it, or `.` for all of it
    eval: str | None = None  # the same for evaluation
    format: Format | None = None  # null recognises it
    field: str = "text"  # that holds the text of a record
    hub: Hub | None = None  # where `andrea fetch` takes it from

    def check(self, key: str) -> None:
        """Raise UserError for a folder or file that DVC does not watch."""
        parts = PurePosixPath(self.path).parts
        if parts[:2] != ("data", "raw") or len(parts) < 3 or ".." in parts:
            raise UserError(f"{key}.path: {self.path!r} must be a folder under data/raw")
        for field, name in (("train", self.train), ("eval", self.eval)):
            if name is None:
                continue
            file = PurePosixPath(name)
            if name == "" or file.is_absolute() or ".." in file.parts:
                raise UserError(
                    f"{key}.{field}: {name!r} must be a file or folder inside {self.path}"
                )
            if name.startswith(f"{self.path}/"):
                raise UserError(
                    f"{key}.{field}: {name!r} is relative to `path`, write"
                    f" {name.removeprefix(self.path + '/')!r}"
                )

    @property
    def train_path(self) -> Path:
        """Training documents."""
        return Path(self.path, self.train)

    @property
    def eval_path(self) -> Path | None:
        """The source's own held-out documents, if it has any."""
        return None if self.eval is None else Path(self.path, self.eval)


HeldOut = Annotated[float, Range(0, 0.5, above=True)]


@dataclass(frozen=True)
class Documents:
    """Shares are of documents, chosen by the hash of their text."""

    probe_share: HeldOut  # for the probe reward
    val_share: HeldOut  # held out, where a source has no evaluation text of its own
    # Of held-out documents among training documents: not looked for, counted, or removed.
    near_duplicates: Literal["keep", "report", "remove"] = "report"
    # Least Jaccard similarity of near-duplicates.
    near_threshold: Annotated[float, Range(0, 1, above=True)] = 0.8
    personal_data: Literal["keep", "mask"] = "keep"  # as it stands, or replaced by marks


Weights = Mapping[str, Annotated[float, Range(0)]]


@dataclass(frozen=True)
class OutOfDomain:
    """Section `ood`: text of a kind that no source has, never trained on."""

    path: str


@dataclass(frozen=True)
class Tokenizer:
    """How segments are found (see `andrea.tokens.harris` and `andrea.tokens.unigram`)."""

    # Shares of bytes by source; they need not sum to 1, and a source that is not named has their
    # mean.
    weights: Weights
    # Exponent of a word's count in the tries; 0 counts word types, 1 occurrences.
    damping: Annotated[float, Range(0, 1)]
    longest_word_bytes: Annotated[int, Range(2, 255)]
    longest_segment_bytes: Annotated[int, Range(2, 255)]
    least_count: Annotated[float, Range(0)]
    candidates: Annotated[int, Range(1)]  # per segment before pruning
    shrink: Annotated[float, Range(0.1, 0.99)]  # share of the candidates that a pruning round keeps
    # Added to every piece's cost, so that paths have fewer pieces.
    piece_cost_nats: Annotated[float, Range(0)]
    # Size of the sample that Harris, BPE and Unigram are compared on.
    comparison_bytes: Annotated[int, Range(1)]

    def check(self, key: str) -> None:
        """Raise UserError for weights that leave no text."""
        if self.weights and not any(self.weights.values()):
            raise UserError(f"{key}.weights: a source needs a weight above 0, found none")
