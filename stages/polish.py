"""Train the third regime: mostly one source, within floors and caps."""

from __future__ import annotations

from andrea.config.tree import Config
from andrea.shell.stage import run
from stages._regime import train


def polish(config: Config) -> None:
    """The stage; see `stages._regime.train`."""
    train(config, "polish")


if __name__ == "__main__":
    run(polish)
