"""Train the second regime: all sources."""

from __future__ import annotations

from typing import Any

from andrea.shell.stage import run
from stages._regime import train


def firehose(params: dict[str, Any]) -> None:
    """The stage; see `stages._regime.train`."""
    train(params, "firehose")


if __name__ == "__main__":
    run(firehose)
