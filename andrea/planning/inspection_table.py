"""An inspection as people read it, and as machines do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from andrea.corpus.personal import PATTERNS
from andrea.planning.guess import TEXT_BYTES_PER_TOKEN
from andrea.planning.inspected import Inspected, Inspection
from andrea.shell.columns import aligned

LONGEST_NAME = 17
SAMPLE_CHARACTERS = 200
MOST_ENDINGS = 6
TOO_OFTEN = {  # mark and meaning
    "limits.max_epochs": (
        "!!", "above limits.max_epochs: the run is refused, unless limits.allow_repeats"
    ),
    "limits.warn_epochs": ("!", "above limits.warn_epochs: the run warns"),
}  # fmt: skip
GAP = "  "
LEGEND = (
    "within, across: training documents that the source has twice, or that a source above has too",
    "equal, near, other: training documents equal to a held-out one of the source (never trained",
    "on), near to one, and near to one of another source; met: held-out documents so copied",
)
MARKS = tuple(dict.fromkeys(pattern.mark for pattern in PATTERNS))


def lines(inspection: Inspection, samples: bool) -> list[str]:
    """The inspection, line by line, in at most 100 columns (samples apart)."""
    named = inspection.sources
    shown: list[str] = []
    if named:
        above = {one.too_often for one in named.values()}
        shown += [*_texts(inspection), *_how_counted(inspection)]
        shown += [f"{mark} {meaning}" for key, (mark, meaning) in TOO_OFTEN.items() if key in above]
        shown += [*_passed_over(named), "", *_copies(inspection), *LEGEND]
    if any(one.personal is not None for one in named.values()):
        shown += [
            "",
            *aligned([("source", *MARKS), *(_marked(*item) for item in named.items())]),
            "times each mark would be set in all text of a source (documents.personal_data=mask)",
        ]
    if samples:
        for name, one in named.items():
            shown += ["", f"samples of {name}:", *map(_sample, one.samples)]
    return shown


def as_json(inspection: Inspection) -> dict[str, Any]:
    """The inspection as plain values; samples are cut as on the terminal."""
    plain = asdict(inspection)
    for one in plain["sources"].values():
        one["samples"] = [text[:SAMPLE_CHARACTERS] for text in one["samples"]]
    return plain


def _texts(inspection: Inspection) -> list[str]:
    about = "~" if inspection.vocabulary is None else ""
    rows: list[Sequence[str]] = [
        ("source", "format", "files", "documents", "MB", "tokens", "held out", "epochs")
    ]
    for name, one in inspection.sources.items():
        train = one.train
        mark = TOO_OFTEN[one.too_often][0] if one.too_often else ""
        rows.append((
            _short(name), one.format, f"{one.files:,}", f"{train.documents:,}",
            f"{train.bytes / 1e6:,.2f}", f"{about}{train.tokens:,}", f"{one.val.documents:,}",
            f"{mark}{one.epochs:,.2f}",
        ))  # fmt: skip
    return aligned(rows, "<<")


def _how_counted(inspection: Inspection) -> list[str]:
    counted, planned = inspection.vocabulary, inspection.planned_vocabulary
    if counted is None:
        how = f"~ an estimate, {TEXT_BYTES_PER_TOKEN:g} bytes a token: there is no tokenizer yet"
    elif counted != planned:
        how = f"tokens of the present tokenizer, vocabulary {counted:,}; the run has {planned:,}"
    else:
        how = f"tokens of the present tokenizer, vocabulary {counted:,}"
    return [how, "epochs: readings by the planned run, at the centre of its regions"]


def _passed_over(named: Mapping[str, Inspected]) -> list[str]:
    lines = []
    for name, one in named.items():
        if count := sum(one.passed_over.values()):
            endings = [*one.passed_over][:MOST_ENDINGS]
            endings += ["..."] * (len(one.passed_over) > MOST_ENDINGS)
            files = f"{count:,} file{'s' * (count > 1)}"
            lines.append(f"passed over in {_short(name)}: {files} ({', '.join(endings)})")
    return lines


def _copies(inspection: Inspection) -> list[str]:
    rows: list[Sequence[str]] = [(
        "source", "shortest", "median", "longest B", "within", "across", "equal", "near", "other",
        "met",
    )]  # fmt: skip
    for name, one in inspection.sources.items():
        copies = one.copies
        numbers = (
            one.shortest_bytes, one.median_bytes, one.longest_bytes, copies.within, copies.across,
            copies.of_val, copies.near_val, copies.near_other_val, copies.val_met,
        )  # fmt: skip
        rows.append((_short(name), *(f"{number:,}" for number in numbers)))
    return aligned(rows)


def _marked(name: str, one: Inspected) -> Sequence[str]:
    times = one.personal or {}
    return (_short(name), *(f"{times.get(mark, 0):,}" for mark in MARKS))


def _sample(document: str) -> str:
    cut = document[:SAMPLE_CHARACTERS]
    shown = "".join(c if c.isprintable() else "⏎" if c == "\n" else "·" for c in cut)
    return f"{GAP}{shown}{'...' if len(document) > len(cut) else ''}"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
