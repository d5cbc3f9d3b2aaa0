"""Train the third regime: mostly one source, within floors and caps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from andrea.planning import estimate
from andrea.shell.stage import run
from andrea.tracking.live import live
from andrea.training.regime import train

if TYPE_CHECKING:
    from andrea.config.tree import Config


def polish(config: Config) -> None:
    """The stage; see `andrea.training.regime.train`."""
    estimate.check(config)
    train(config, "polish", live(config, "polish"))


if __name__ == "__main__":
    run(polish)
