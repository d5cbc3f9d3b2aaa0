"""The model card: what a stranger must know of a model, filled from the run that made it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from andrea.common.errors import line
from andrea.exporting.figures import Figures
from andrea.exporting.trained import Trained

UNKNOWN = "not stated"


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
    return [
        *_beginning(trained),
        "",
        "| | |", "|---|---|",
        f"| parameters | {scale.parameters:,} |",
        f"| layers, width, heads | {scale.n_layers}, {scale.d_model}, {scale.n_heads} |",
        f"| context | {scale.context:,} tokens |",
        f"| vocabulary | {scale.vocabulary:,}: 256 bytes, BOS, {scale.segments:,} segments |",
        f"| tokens read in training | {_number(_tokens(trained))} |",
    ]  # fmt: skip


def _beginning(trained: Trained) -> list[str]:
    """What the network began as. A run counts only the tokens that it read itself."""
    regime, step = trained.facts.get("regime"), trained.step
    if not regime:
        return [
            f"A small language model, imported from an original checkpoint at step {step:,}."
            " What was done with it before is not known."
        ]
    taken = f"Taken at step {step:,}, after the regime {line(regime, 40)}."
    if _tokens(trained) is None:
        return [
            "A small language model, trained on from a checkpoint of elsewhere (parameter"
            f" `warmup.start`) on the texts below. {taken}",
            "",
            "What that checkpoint had read before is not known, and not in the table below.",
        ]
    begun = "random weights"
    if trained.scale.bigram_init:
        begun += " fitted to counts of token pairs"
    return [f"A small language model, trained on the texts below from {begun}. {taken}"]


def _tokens(trained: Trained) -> int | None:
    """Tokens read in training; None where part of it is not known."""
    tokens = trained.state.get("tokens")
    return tokens if tokens and tokens == trained.step * trained.scale.step_tokens else None


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
        found = figures.recited
        lines += [
            f"| passages of the training text recited word for word | {found.read:.2%} |",
            f"| the same of text that it never read | {found.unread:.2%} |",
            f"| difference, with its 95 % interval | {100 * found.difference:.2f} points,"
            f" {100 * found.low:.2f} to {100 * found.high:.2f} |",
        ]
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
    elif figures.recited.read > 0:
        lines.append(
            f"- It goes on with {figures.recited.read:.2%} of the tried passages of its training"
            f" text word for word, and with {figures.recited.unread:.2%} of those of text that it"
            " never read."
        )
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
