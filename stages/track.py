"""Stage `track`: shows the experiment as one MLflow run, from the files of the other stages."""

from __future__ import annotations

from typing import Any

from andrea.tracking import replay
from stages import _shell


def track(params: dict[str, Any]) -> None:
    """Write to MLflow what is not there yet."""
    replay.track(params)


if __name__ == "__main__":
    _shell.run(track)
