"""Section `shard`: what is held out of a source's training text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from andrea.config.reading import Range

Share = Annotated[float, Range(0, 0.5, above=True)]


@dataclass(frozen=True)
class Shard:
    """Shares of documents, chosen by the hash of their text."""

    probe_share: Share
    val_share: Share
