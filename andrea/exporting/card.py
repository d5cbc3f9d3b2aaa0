"""The model card: what a stranger must know of a model, filled from the run that made it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from andrea.errors import UserError
from andrea.exporting.trained import Trained
from andrea.exporting.untrusted import line
from andrea.files import read_json, sha256

UNKNOWN = "not stated"


@dataclass(frozen=True)
class Source:
    """A row of the table of texts; None is not known.

    Attributes:
        licences: SPDX names, by falling number of documents.
        documents: for training.
        train_bytes: of their text.
        readings: of the whole source in training.
        bits_per_byte: on held-out text.
    """

    name: str
    licences: tuple[str, ...]
    documents: int | None
    train_bytes: int | None
    readings: float | None
    bits_per_byte: float | None


@dataclass(frozen=True)
class Figures:
    """All that a card is filled with beside the checkpoint itself.

    Attributes:
        name: of the model.
        sources: in the order of the run.
        macro_mean: bits per byte over the sources.
        out_of_domain: bits per byte.
        recited: share of training passages that the model goes on with word for word.
        notices: where the data's licence texts stand, beside the data.
    """

    name: str
    sources: tuple[Source, ...]
    macro_mean: float | None
    out_of_domain: float | None
    recited: float | None
    notices: str | None


def gather(trained: Trained, name: str, raw: Path, shards: Path, reports: Path) -> Figures:
    """Read what the repository knows of a run. What it does not know is left out, never guessed.

    Figures of the data are taken from shards that the checkpoint was trained on, by digest;
    those of the evaluation where the regime's report is of the same step.

    Args:
        trained: the checkpoint.
        name: of the model.
        raw: data as it came, perhaps with a `manifest.json` of licences.
        shards: prepared sources.
        reports: of the regimes and the evaluation.
    """
    regime = trained.facts.get("regime")
    found: Mapping[str, Any] = {}
    report: Mapping[str, Any] = {}
    if isinstance(regime, str):
        report = _json(reports / regime / "metrics.json")
        if report.get("steps") == trained.step:
            found = _json(reports / "evaluate" / "metrics.json")
        else:
            report = {}
    bits = found.get(str(regime), {})
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
    recited = found.get("memorization", {}).get(str(regime), {}).get("extracted_train")
    notices = str(raw / "LICENSES") if (raw / "LICENSES").is_dir() else None
    return Figures(
        name, tuple(sources), bits.get("macro_mean"), bits.get("out_of_domain"), recited, notices
    )


def _licences(raw: Path, files: Mapping[str, Any], source: str) -> tuple[str, ...]:
    """Licences that a manifest gives for the files that are there, and not for other ones."""
    counts: dict[str, int] = {}
    for name, entry in files.items():
        file = raw / name
        if (
            name.startswith(f"{source}/train")
            and file.is_file()
            and sha256(file) == entry["sha256"]
        ):
            for licence, documents in entry.get("licenses", {}).items():
                counts[licence] = counts.get(licence, 0) + documents
    return tuple(sorted(counts, key=lambda licence: (-counts[licence], licence)))


def _json(path: Path) -> dict[str, Any]:
    try:
        found = read_json(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a report of this project ({line(error)})") from error
    return found if isinstance(found, dict) else {}


def render(trained: Trained, figures: Figures) -> str:
    """The card as Markdown with YAML front matter."""
    return "\n".join(
        [
            *_front_matter(figures), "", f"# {figures.name}", "",
            *_introduction(trained), "",
            "## Use", "", *_use(trained), "",
            "## Data", "", *_data(figures), "",
            "## Measured", "", *_measured(figures), "",
            "## Limits", "", *_limits(trained, figures), "",
            "## Origin", "", *_origin(trained), "",
        ]
    )  # fmt: skip


def _front_matter(figures: Figures) -> list[str]:
    lines = [
        "---", "language:", "- en", "library_name: transformers", "pipeline_tag: text-generation",
        "license: other", "license_name: see-data-below", "tags:", "- andrea", "- small-lm",
    ]  # fmt: skip
    if figures.macro_mean is not None:
        # A string of JSON is one of YAML too.
        lines += [
            "model-index:", f"- name: {json.dumps(figures.name)}", "  results:",
            "  - task:", "      type: text-generation",
            "    dataset:", "      name: held-out text of its sources", "      type: andrea",
            "    metrics:", "    - name: mean bits per byte", "      type: bits_per_byte",
            f"      value: {figures.macro_mean:.4f}",
        ]  # fmt: skip
    return [*lines, "---"]


def _introduction(trained: Trained) -> list[str]:
    scale = trained.scale
    regime = trained.facts.get("regime")
    after = f"after the regime {regime}" if regime else "imported from an original checkpoint"
    return [
        "A small language model, trained from nothing on the texts below, whose shares a bandit"
        f" set. Taken at step {trained.step:,}, {after}.",
        "",
        "| | |", "|---|---|",
        f"| parameters | {scale.parameters:,} |",
        f"| layers, width, heads | {scale.layers}, {scale.width}, {scale.heads} |",
        f"| context | {scale.context:,} tokens |",
        f"| vocabulary | {scale.vocabulary:,}: 256 bytes, BOS, {scale.segments:,} segments |",
        f"| tokens read in training | {_number(trained.state.get('tokens') or None)} |",
    ]  # fmt: skip


def _use(trained: Trained) -> list[str]:
    return [
        "```python",
        "from transformers import AutoModelForCausalLM, AutoTokenizer",
        "",
        'tokenizer = AutoTokenizer.from_pretrained("PATH")',
        'model = AutoModelForCausalLM.from_pretrained("PATH")',
        'chat = [{"role": "user", "content": "What is a river?"}]',
        "asked = tokenizer.apply_chat_template(",
        '    chat, add_generation_prompt=True, return_tensors="pt", return_dict=True',
        ")",
        "print(tokenizer.decode(model.generate(**asked, max_new_tokens=60)[0]))",
        "```",
        "",
        "No code of this folder is run: the weights are laid out as a GPT-2 of the library, which"
        " computes the same logits. It takes the network's width in a slightly wider one, so the"
        " file holds more numbers than the network has parameters.",
        "",
        "A prompt begins with `> `, a reply with `< `, at the start of a line. BOS stands before"
        f" each document and ends a reply. More than {trained.scale.context:,} tokens cannot be"
        " read at once.",
    ]


def _data(figures: Figures) -> list[str]:
    if not figures.sources:
        return ["Not known: the checkpoint does not say what it was trained on."]
    lines = [
        "| source | licences | training documents | bytes | times read | bits per byte, held out |",
        "|---|---|---|---|---|---|",
    ]
    for source in figures.sources:
        licences = ", ".join(source.licences) or UNKNOWN
        read = _number(source.readings, ".2f")
        bits = _number(source.bits_per_byte, ".3f")
        lines.append(
            f"| {source.name} | {licences} | {_number(source.documents)} |"
            f" {_number(source.train_bytes)} | {read} | {bits} |"
        )
    lines += [
        "",
        "Times read: how often training went through the source. A licence that is not stated must"
        " be asked for where the text came from. Licences of the data may bind whoever hands on"
        " a model that can recite parts of it.",
    ]
    if figures.notices:
        lines += ["", "Notices of these licences came with the data, and are not in this folder."]
    return lines


def _measured(figures: Figures) -> list[str]:
    if figures.macro_mean is None:
        return ["Nothing was measured on this checkpoint."]
    lines = [
        "| | |", "|---|---|",
        f"| bits per byte on held-out text, mean over the sources | {figures.macro_mean:.4f} |",
        f"| the same on text of another kind | {_number(figures.out_of_domain, '.4f')} |",
    ]  # fmt: skip
    if figures.recited is not None:
        recited = f"{figures.recited:.2%}"
        lines.append(f"| passages of the training text recited word for word | {recited} |")
    return lines


def _limits(trained: Trained, figures: Figures) -> list[str]:
    lines = [
        f"- {trained.scale.parameters:,} parameters know little. What the model says is often"
        " wrong, and reads as if it were not.",
        "- It was not trained to refuse, to be safe or to be fair; it repeats what its texts hold.",
        "- English; other languages are spelled in bytes and were hardly seen.",
    ]
    if figures.recited is None:
        lines.append("- Whether it recites its training text was not measured.")
    elif figures.recited > 0:
        lines.append("- It recites a few passages of its training text word for word.")
    return lines


def _origin(trained: Trained) -> list[str]:
    lines = [
        "| | |", "|---|---|",
        f"| SHA-256 of the checkpoint | `{trained.checkpoint_sha256}` |",
        f"| SHA-256 of the tokenizer | `{trained.tokenizer_sha256}` |",
    ]  # fmt: skip
    machine = trained.facts.get("machine")
    if isinstance(machine, Mapping):
        told = ", ".join(f"{key} {value}" for key, value in sorted(machine.items()))
        lines.append(f"| trained with | {line(told, 300)} |")
    return lines


def _number(value: float | None, form: str = ",") -> str:
    return UNKNOWN if value is None else format(value, form)
