"""Turn the out-of-domain text, which is never trained on, into documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from andrea.common import paths
from andrea.corpus import collect
from andrea.corpus.text import Text
from andrea.shell.stage import run

if TYPE_CHECKING:
    from andrea.config.tree import Config


def ood(config: Config) -> None:
    """Write its documents."""
    collect.write_held_out(paths.OOD, Text(Path(config.ood.path)))


if __name__ == "__main__":
    run(ood)
