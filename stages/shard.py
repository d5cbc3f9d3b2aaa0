"""Turn the text of one source into verified token shards for training, probe and evaluation."""

from __future__ import annotations

from typing import Any

from andrea.common import paths
from andrea.common.errors import UserError
from andrea.config import sources
from andrea.config.reading import section
from andrea.config.shard import Shard
from andrea.corpus import documents as text
from andrea.shell import stage as _shell
from andrea.tokens import sharding


def shard(params: dict[str, Any], name: str) -> None:
    """Write the shard of the source `name`."""
    named = sources.read(params)
    if name not in named:
        raise UserError(f"source {name!r} is not in `sources`, which has {', '.join(named)}")
    settings = section(params, "shard", Shard)
    sharding.write(paths.SHARDS / name, *text.of(named[name], settings), paths.TOKENIZER, settings)


if __name__ == "__main__":
    _shell.run(shard, "source")
