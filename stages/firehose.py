"""Train the second regime: all sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from andrea.planning import estimate
from andrea.shell.stage import run
from andrea.tracking.live import live
from andrea.training.regime import train

if TYPE_CHECKING:
    from andrea.config.tree import Config


def firehose(config: Config) -> None:
    """The stage; see `andrea.training.regime.train`."""
    estimate.check(config)
    train(config, "firehose", live(config, "firehose"))


if __name__ == "__main__":
    run(firehose)
