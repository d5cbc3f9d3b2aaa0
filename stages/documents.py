"""Turn the text of one source, whatever its format, into documents: masked, split, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from andrea.common import paths
from andrea.common.errors import UserError
from andrea.corpus import collect, text
from andrea.shell.stage import run

if TYPE_CHECKING:
    from andrea.config.tree import Config


def documents(config: Config, name: str) -> None:
    """Write the documents of the source `name`."""
    named, settings = config.sources, config.documents
    if name not in named:
        raise UserError(f"source {name!r} is not in `sources`, which has {', '.join(named)}")
    collect.write(paths.DOCUMENTS / name, *text.of(named[name], settings), settings)


if __name__ == "__main__":
    run(documents, "source")
