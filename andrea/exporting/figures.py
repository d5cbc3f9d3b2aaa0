"""What the repository knows of the run that made a checkpoint, for its card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from andrea.common.errors import UserError, line
from andrea.common.files import read_json, sha256
from andrea.config.training import REGIMES
from andrea.exporting.trained import Trained
from andrea.training import checkpoint


@dataclass(frozen=True)
class Source:
    """A row of the table of texts; None is not known."""

    name: str
    licences: tuple[str, ...]  # SPDX names, by falling number of documents
    documents: int | None  # for training
    train_bytes: int | None  # of their text
    readings: float | None  # of the whole source in training
    bits_per_byte: float | None  # on held-out text


# In `metrics.json`, in the order of the fields of `Recited`.
RECITED = ("extracted_train", "extracted_control", "difference", "low", "high")


@dataclass(frozen=True)
class Recited:
    """Shares of passages that the model goes on with word for word."""

    read: float  # of passages of the training text
    unread: float  # of text that it never read
    difference: float  # of the two, with its 95 % interval `low` to `high`
    low: float
    high: float


@dataclass(frozen=True)
class Figures:
    """All that a card is filled with beside the checkpoint itself."""

    name: str
    sources: tuple[Source, ...]  # in the order of the run
    macro_mean: float | None  # bits per byte over the sources
    out_of_domain: float | None  # bits per byte
    recited: Recited | None  # how much of its training text it recites
    notices: str | None  # where the data's licence texts stand, beside the data


def gather(
    trained: Trained, name: str, raw: Path, shards: Path, checkpoints: Path, reports: Path
) -> Figures:
    """Read what the repository knows of a run. What it does not know is left out, never guessed.

    Figures of the data are taken from shards that the checkpoint was trained on, those of training
    if it is the regime's, and those of the evaluation if it was measured: all by digest.

    Args:
        raw: data as it came, perhaps with a `manifest.json` of licences.
    """
    regime = trained.facts.get("regime")
    evaluation: Mapping[str, Any] = {}
    report: Mapping[str, Any] = {}
    if regime in REGIMES:
        file = checkpoints / regime / checkpoint.FILE
        if file.is_file() and sha256(file) == trained.checkpoint_sha256:
            report = _json(reports / regime / "metrics.json")
        measured = _json(reports / "evaluate" / "checkpoints.json")
        if measured.get(regime) == trained.checkpoint_sha256:
            evaluation = _json(reports / "evaluate" / "metrics.json")
    bits = evaluation.get(str(regime), {})
    files = _json(raw / "manifest.json").get("files", {})
    sources = []
    for source in trained.facts.get("sources", []):
        digest = trained.facts.get("train", {}).get(source)
        split = _json(shards / source / "manifest.json").get("splits", {}).get("train", {})
        known = split if split.get("sha256") == digest is not None else {}
        sources.append(
            Source(
                source, _licences(raw, files, source), known.get("documents"), known.get("bytes"),
                report.get("epochs", {}).get(source),
                bits.get("bits_per_byte", {}).get(source),
            )
        )  # fmt: skip
    tried = evaluation.get("memorization", {}).get(str(regime), {})
    recited = Recited(*(tried[name] for name in RECITED)) if tried.keys() >= set(RECITED) else None
    notices = str(raw / "LICENSES") if (raw / "LICENSES").is_dir() else None
    return Figures(
        name, tuple(sources), bits.get("macro_mean"), bits.get("out_of_domain"), recited, notices
    )


def _licences(raw: Path, files: Mapping[str, Any], source: str) -> tuple[str, ...]:
    """Licences that a manifest gives for the files that are there, and not for other ones."""
    counts: Counter[str] = Counter()
    for name, entry in files.items():
        theirs, file = name.startswith(f"{source}/train"), raw / name
        if theirs and file.is_file() and sha256(file) == entry["sha256"]:
            counts.update(entry.get("licenses", {}))
    return tuple(sorted(counts, key=lambda licence: (-counts[licence], licence)))


def _json(path: Path) -> dict[str, Any]:
    try:
        value = read_json(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a report of this project ({line(error)})") from error
    return value if isinstance(value, dict) else {}
