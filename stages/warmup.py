"""Train the first regime: a calm start on a few sources of one kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from andrea.planning import estimate
from andrea.shell.stage import run
from andrea.tracking.live import live
from andrea.training.regime import train

if TYPE_CHECKING:
    from andrea.config.tree import Config


def warmup(config: Config) -> None:
    """The stage; see `andrea.training.regime.train`."""
    estimate.check(config)
    train(config, "warmup", live(config, "warmup"))


if __name__ == "__main__":
    run(warmup)
