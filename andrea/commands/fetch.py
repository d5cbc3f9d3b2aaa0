"""Bring the data set of a source from the Hugging Face hub, once.

Brings the data set that `sources.SOURCE.hub` names into the source's folder as JSON Lines, and
writes there where it is from. What is there already stays.

Example: andrea fetch smoltalk
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from andrea.commands.shared import Commands, add_changes, configuration, new_command
from andrea.common.errors import UserError
from andrea.config.text import Source

if TYPE_CHECKING:
    from andrea.corpus.hub import Split


def add(commands: Commands) -> None:
    """Make the command known."""
    command = new_command(commands, fetch, __doc__)
    command.add_argument("source", metavar="SOURCE", nargs="?", help="as in params.yaml")
    command.add_argument(
        "--all", action="store_true", help="every source with a `hub`, in the order of params.yaml"
    )
    add_changes(command)


def fetch(given: argparse.Namespace) -> int:
    """Fetch what is not there, one source after the other."""
    from andrea.corpus import hub

    named = _chosen(configuration(given.change).sources, given.source, given.all)
    wanted = {name: hub.check(source, f"sources.{name}") for name, source in named.items()}
    missing = {name for name, source in named.items() if not hub.is_there(source)}
    for name, source in named.items():
        if name not in missing:
            print(f"{name}: there already, in {source.path}")
            continue
        provenance = hub.fetch(source, wanted[name], _watched, hub.load)
        for file, facts in provenance["files"].items():
            size = f"{facts['documents']:,} documents, {facts['bytes']:,} bytes of text"
            print(f"{name}: {size}, in {source.path}/{file}", flush=True)
    return 0


def _chosen(known: Mapping[str, Source], name: str | None, everything: bool) -> dict[str, Source]:
    if (name is None) != everything:
        raise UserError("fetch: one SOURCE or --all is needed")
    if name is None:
        chosen = {name: source for name, source in known.items() if source.hub is not None}
        if not chosen:
            raise UserError("sources: none has a `hub`, so there is nothing to fetch")
        return chosen
    if name not in known:
        raise UserError(f"{name}: no such source, known are {', '.join(known)}")
    return {name: known[name]}


def _watched(split: Split, place: str) -> Iterable[dict[str, Any]]:
    from tqdm import tqdm

    bar: Iterable[dict[str, Any]] = tqdm(
        split.rows, place, split.total, unit=" rows", file=sys.stderr, disable=None
    )
    return bar
