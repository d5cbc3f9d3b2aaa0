"""Section `sources`: what text there is, in the order that every weight vector has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from andrea.common.errors import UserError
from andrea.config.reading import leaf

Format = Literal[
    "jsonl", "parquet", "arrow", "chat", "text", "gutenberg", "irc", "git-docs", "git-docstrings",
    "git-commits", "dictionary",
]  # fmt: skip
LONGEST_NAME = 64  # of a source: it names folders and metrics
FORMATS: tuple[str, ...] = get_args(Format)


@dataclass(frozen=True)
class Hub:
    """A data set of the Hugging Face hub, as `andrea fetch` brings it.

    Attributes:
        name: `owner/name`, or a local folder.
        revision: a commit, 40 hex digits; null for a local folder, and where none is known yet.
        subset: also known as the configuration.
        train_split: for training.
        eval_split: for evaluation; null where held-out text is split off.
    """

    name: str
    revision: str | None = None
    subset: str | None = None
    train_split: str = "train"
    eval_split: str | None = None


@dataclass(frozen=True)
class Source:
    """Text of one source; without `eval`, held-out text is split off by document hash.

    Attributes:
        path: a folder under data/raw, which DVC watches.
        train: a file or folder inside it, or `.` for all of it.
        eval: the same for evaluation.
        format: null recognises it.
        field: that holds the text of a record.
        hub: where `andrea fetch` takes it from.
    """

    path: str
    train: str
    eval: str | None = None
    format: Format | None = None
    field: str = "text"
    hub: Hub | None = None

    def check(self, key: str) -> None:
        """Raise UserError for a folder or file that DVC does not watch."""
        parts = PurePosixPath(self.path).parts
        if parts[:2] != ("data", "raw") or len(parts) < 3 or ".." in parts:
            raise UserError(f"{key}.path: {self.path!r} must be a folder under data/raw")
        for field, name in (("train", self.train), ("eval", self.eval)):
            if name is not None and not _is_inside(name):
                raise UserError(
                    f"{key}.{field}: {name!r} must be a file or folder inside {self.path}"
                )
            if name is not None and name.startswith(f"{self.path}/"):
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


def _is_inside(name: str) -> bool:
    file = PurePosixPath(name)
    return name != "" and not file.is_absolute() and ".." not in file.parts


def read(params: Mapping[str, Any]) -> dict[str, Source]:
    """All sources by name.

    Raises:
        UserError: a source is wrong, or there are fewer than two.
    """
    sources = leaf(params, "sources", Mapping[str, Source])
    if len(sources) < 2:
        raise UserError(f"sources: {len(sources)} named, a mixture needs at least 2")
    for name in sources:
        if not name.replace("-", "").replace("_", "").isalnum():
            raise UserError(f"sources.{name}: a name has letters, digits, - and _ only")
        if name == "all" or name.startswith("-") or len(name) > LONGEST_NAME:
            raise UserError(
                f"sources.{name}: not allowed as a name; it must not be `all`, begin with - or be"
                f" longer than {LONGEST_NAME} characters"
            )
    return dict(sources)
