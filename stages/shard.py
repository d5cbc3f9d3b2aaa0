"""Turn the text of one source into verified token shards for training, probe and evaluation."""

from __future__ import annotations

from andrea.common import paths
from andrea.common.errors import UserError
from andrea.config.tree import Config
from andrea.corpus import documents as text
from andrea.shell import stage as _shell
from andrea.tokens import sharding


def shard(config: Config, name: str) -> None:
    """Write the shard of the source `name`."""
    named, settings = config.sources, config.documents
    if name not in named:
        raise UserError(f"source {name!r} is not in `sources`, which has {', '.join(named)}")
    sharding.write(paths.SHARDS / name, *text.of(named[name], settings), paths.TOKENIZER, settings)


if __name__ == "__main__":
    _shell.run(shard, "source")
