"""Train the second regime: all sources."""

from __future__ import annotations

from andrea.config.tree import Config
from andrea.shell.stage import run
from stages._regime import train


def firehose(config: Config) -> None:
    """The stage; see `stages._regime.train`."""
    train(config, "firehose")


if __name__ == "__main__":
    run(firehose)
