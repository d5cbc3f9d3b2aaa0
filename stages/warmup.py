"""Train the first regime: a calm start on a few sources of one kind."""

from __future__ import annotations

from typing import Any

from andrea.shell.stage import run
from stages._regime import train


def warmup(params: dict[str, Any]) -> None:
    """The stage; see `stages._regime.train`."""
    train(params, "warmup")


if __name__ == "__main__":
    run(warmup)
