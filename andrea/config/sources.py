"""Section `sources`: what text there is, in the order that every weight vector has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from andrea.config.reading import leaf
from andrea.errors import UserError


@dataclass(frozen=True)
class Source:
    """Files of one source; without `eval`, held-out text is split off by document hash."""

    path: str
    train: str
    eval: str | None

    def check(self, key: str) -> None:
        """Raise UserError for a folder that DVC does not watch."""
        parts = PurePosixPath(self.path).parts
        if parts[:2] != ("data", "raw") or len(parts) < 3 or ".." in parts:
            raise UserError(f"{key}.path: {self.path!r} must be a folder under data/raw")


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
    return dict(sources)
