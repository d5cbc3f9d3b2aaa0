"""Train the third regime: mostly one source, within floors and caps."""

from __future__ import annotations

from typing import Any

from andrea.shell.stage import run
from stages._regime import train


def polish(params: dict[str, Any]) -> None:
    """The stage; see `stages._regime.train`."""
    train(params, "polish")


if __name__ == "__main__":
    run(polish)
