"""The model card: what a stranger must know of a model, filled from the run that made it.

Its text stands in `card.md.jinja`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined

from andrea.common.errors import line
from andrea.exporting.figures import Figures
from andrea.exporting.trained import Trained

UNKNOWN = "not stated"


def render(trained: Trained, figures: Figures) -> str:
    """The card as Markdown with YAML front matter."""
    environment = Environment(
        loader=PackageLoader("andrea.exporting", ""), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
    )  # fmt: skip
    # A string of JSON is one of YAML too.
    environment.globals |= {"json": json.dumps, "line": line, "number": _number, "unknown": UNKNOWN}
    machine = trained.facts.get("machine")
    if isinstance(machine, Mapping):
        machine = ", ".join(f"{key} {value}" for key, value in sorted(machine.items()))
    else:
        machine = None
    return environment.get_template("card.md.jinja").render(
        trained=trained, figures=figures, regime=trained.facts.get("regime"),
        tokens=_tokens(trained), machine=machine,
    )  # fmt: skip


def _tokens(trained: Trained) -> int | None:
    """Tokens read in training; None where part of it is not known: a run counts only its own."""
    tokens = trained.state.get("tokens")
    return tokens if tokens and tokens == trained.step * trained.scale.step_tokens else None


def _number(value: float | None, form: str = ",") -> str:
    return UNKNOWN if value is None else format(value, form)
