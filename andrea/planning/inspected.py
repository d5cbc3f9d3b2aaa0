"""What an inspection finds, source by source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Read:
    """Documents, bytes of text, and tokens with a BOS each, of one side of a source."""

    documents: int = 0
    bytes: int = 0
    tokens: int = 0


@dataclass
class Copies:
    """Training documents that say what another document says.

    Attributes:
        within: further copies inside the source; no run trains on them.
        across: that an earlier one of the sources inspected has, too.
        of_val: equal to a held-out document of the source; no run trains on them.
        near_val: near to a held-out document of the source, and not equal to one.
        near_other_val: near or equal to a held-out document of another source inspected.
        val_met: held-out documents that some training document, of whatever source, is near to.
    """

    within: int = 0
    across: int = 0
    of_val: int = 0
    near_val: int = 0
    near_other_val: int = 0
    val_met: int = 0


@dataclass
class Inspected:
    """One source.

    Attributes:
        train: what the stage `documents` would keep for training and probes.
        val: what it would hold out.
        copies: among its training documents.
        shortest_bytes, median_bytes, longest_bytes: of the documents of `train`.
        epochs: how often the planned run reads it.
        personal: how often each mark would be set in all of its text; None if not looked for.
        samples: the documents of `train` with the least digests.
        passed_over: files beside those that are read, by ending.
        too_often: the parameter that `epochs` is above, `limits.warn_epochs` (a warning) or
            `limits.max_epochs` (refused); empty where there is none.
    """

    format: str
    files: int
    train: Read = field(default_factory=Read)
    val: Read = field(default_factory=Read)
    copies: Copies = field(default_factory=Copies)
    shortest_bytes: int = 0
    median_bytes: int = 0
    longest_bytes: int = 0
    epochs: float = 0.0
    personal: dict[str, int] | None = None
    samples: list[str] = field(default_factory=list)
    passed_over: dict[str, int] = field(default_factory=dict)
    too_often: str = ""


@dataclass(frozen=True)
class Inspection:
    """Sources that could be read, and for the others why not, one line each.

    `vocabulary` is that of the tokenizer that counted tokens; None where they are an estimate.
    `planned_vocabulary` is that of the run.
    """

    sources: Mapping[str, Inspected]
    errors: Mapping[str, str]
    vocabulary: int | None
    planned_vocabulary: int
