"""Stage `track`: shows the experiment as one MLflow run, from the files of the other stages."""

from __future__ import annotations

import os
from pathlib import Path

from andrea.common import paths
from andrea.config.training import REGIMES
from andrea.config.tree import Config
from andrea.scratch import folder as scratch
from andrea.shell import stage as _shell
from andrea.tracking import replay

CHECKPOINT = "checkpoint.safetensors"


def track(config: Config) -> None:
    """Write to MLflow what is not there yet, and remove the scratch of what is finished."""
    replay.track(config)
    root = Path(os.environ.get("DVC_ROOT", ".")) / scratch.ROOT
    for name in REGIMES:
        scratch.remove_settled(root, name, paths.CHECKPOINTS / name / CHECKPOINT)


if __name__ == "__main__":
    _shell.run(track)
