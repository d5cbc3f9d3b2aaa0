"""Stage `track`: shows the experiment as one MLflow run, from the files of the other stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from andrea.common import paths
from andrea.config.training import REGIMES
from andrea.scratch import folder as scratch
from andrea.shell import stage
from andrea.tracking import replay
from andrea.training import checkpoint

if TYPE_CHECKING:
    from andrea.config.tree import Config


def track(config: Config) -> None:
    """Write to MLflow what is not there yet, and remove the scratch of what is finished."""
    replay.track(config)
    for name in REGIMES:
        scratch.remove_settled(scratch.root(), name, paths.CHECKPOINTS / name / checkpoint.FILE)


if __name__ == "__main__":
    stage.run(track)
