"""Turn the documents of one source into verified tokens for training, probe and evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from andrea.common import paths
from andrea.common.errors import UserError
from andrea.corpus.documents import open_documents
from andrea.shell.stage import run
from andrea.tokens import sharding

if TYPE_CHECKING:
    from andrea.config.tree import Config


def shard(config: Config, name: str) -> None:
    """Write the shard of the source `name`."""
    if name not in config.sources:
        known = ", ".join(config.sources)
        raise UserError(f"source {name!r} is not in `sources`, which has {known}")
    documents = open_documents(paths.DOCUMENTS / name)
    sharding.write(paths.SHARDS / name, documents, paths.TOKENIZER)


if __name__ == "__main__":
    run(shard, "source")
