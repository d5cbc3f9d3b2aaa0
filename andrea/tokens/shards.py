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

    Raises:
        UserError: the shard is missing, of another format or tokenizer, short, long or changed;
            names shard and file.
    """

    def refusal(path: Path, reason: str) -> UserError:
        remedy = f"`dvc repro -f -s shard@{folder.name}` writes it anew"
        return UserError(f"shard {folder.name}: {path} {reason}; {remedy}")

    path = folder / "manifest.json"
    if not path.is_file():
        raise refusal(path, "is missing")
    try:
        manifest = files.read_json(path)
        version = manifest["format"]
        if version != FORMAT:
            raise refusal(path, f"has format {version}, needed is {FORMAT}")
        tokenizer = manifest["inputs"]["tokenizer"]
        splits = {name: manifest["splits"][name] for name in SPLITS}
        expected = {name: (splits[name]["tokens"], splits[name]["sha256"]) for name in SPLITS}
    except (KeyError, TypeError, ValueError) as error:
        raise refusal(path, f"is damaged ({error})") from error
    if not tokenizer_file.is_file() or files.sha256(tokenizer_file) != tokenizer:
        raise refusal(path, f"was made with another tokenizer than {tokenizer_file}")
    arrays = {}
    for name, (tokens, sha256) in expected.items():
        file = folder / f"{name}.bin"
        size = file.stat().st_size if file.is_file() else -1
        if size != 2 * tokens:
            reason = "is missing" if size < 0 else f"has {size} bytes instead of {2 * tokens}"
            raise refusal(file, reason)
        if files.sha256(file) != sha256:
            raise refusal(file, "was changed after writing")
        arrays[name] = np.memmap(file, dtype="<u2", mode="r")
    return Shard(arrays["train"], arrays["probe"], arrays["val"], manifest)
