"""Token shards: one folder per source, memory-mapped, verified when opened.

`train.bin`, `probe.bin` and `val.bin` hold little-endian uint16 ids in which every
document is BOS followed by its tokens; `manifest.json` says what they hold and where from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from andrea.common import files
from andrea.common.errors import UserError
from andrea.tokens.tokenizer import Tokens

FORMAT = 2
SPLITS = ("train", "probe", "val")


@dataclass(frozen=True)
class Shard:
    """One source's tokens, each (tokens,) uint16 and read-only, and its manifest."""

    train: Tokens
    probe: Tokens
    val: Tokens
    manifest: Mapping[str, Any]


def open_shard(folder: Path, tokenizer_file: Path) -> Shard:
    """Map a shard into memory after checking that its files are the ones that were written.

    Args:
        folder: what `andrea.tokens.sharding.write` wrote.
        tokenizer_file: the tokenizer that the tokens must be of.

    Raises:
        UserError: the shard is missing, of another format or tokenizer, short, long or changed;
            names shard and file.
    """
    path = folder / "manifest.json"
    remedy = f"`dvc repro -f -s shard@{folder.name}` writes it anew"
    if not path.is_file():
        raise UserError(f"shard {folder.name}: {path} is missing; {remedy}")
    try:
        manifest = files.read_json(path)
        version = manifest["format"]
        if version != FORMAT:
            raise UserError(
                f"shard {folder.name}: {path} has format {version}, needed is {FORMAT}; {remedy}"
            )
        tokenizer = manifest["inputs"]["tokenizer"]
        splits = {name: manifest["splits"][name] for name in SPLITS}
        expected = {name: (splits[name]["tokens"], splits[name]["sha256"]) for name in SPLITS}
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"shard {folder.name}: {path} is damaged ({error}); {remedy}") from error
    if not tokenizer_file.is_file() or files.sha256(tokenizer_file) != tokenizer:
        raise UserError(
            f"shard {folder.name}: {path} was made with another tokenizer than {tokenizer_file};"
            f" {remedy}"
        )
    arrays = {}
    for name, (tokens, sha256) in expected.items():
        file = folder / f"{name}.bin"
        size = file.stat().st_size if file.is_file() else -1
        if size != 2 * tokens:
            reason = "is missing" if size < 0 else f"has {size} bytes instead of {2 * tokens}"
            raise UserError(f"shard {folder.name}: {file} {reason}; {remedy}")
        if files.sha256(file) != sha256:
            raise UserError(f"shard {folder.name}: {file} was changed after writing; {remedy}")
        arrays[name] = np.memmap(file, dtype="<u2", mode="r")
    return Shard(arrays["train"], arrays["probe"], arrays["val"], manifest)
