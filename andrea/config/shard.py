"""Section `shard`: what is held out of a source's training text, and what is left out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from andrea.config.reading import Range

Share = Annotated[float, Range(0, 0.5, above=True)]


@dataclass(frozen=True)
class Shard:
    """Shares are of documents, chosen by the hash of their text.

    Attributes:
        probe_share: for the probe reward.
        val_share: held out, where a source has no evaluation text of its own.
        near_duplicates: of held-out documents among training documents: not looked for, counted,
            or removed.
        near_threshold: least Jaccard similarity of near-duplicates.
        personal_data: as it stands, or replaced by marks.
    """

    probe_share: Share
    val_share: Share
    near_duplicates: Literal["keep", "report", "remove"] = "report"
    near_threshold: Annotated[float, Range(0, 1, above=True)] = 0.8
    personal_data: Literal["keep", "mask"] = "keep"
