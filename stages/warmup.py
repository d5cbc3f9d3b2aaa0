"""Train the first regime: a calm start on a few sources of one kind."""

from __future__ import annotations

from andrea.config.tree import Config
from andrea.shell.stage import run
from stages._regime import train


def warmup(config: Config) -> None:
    """The stage; see `stages._regime.train`."""
    train(config, "warmup")


if __name__ == "__main__":
    run(warmup)
