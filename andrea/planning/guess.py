"""Training tokens of a source without a shard, told from its text or its files' sizes."""

from __future__ import annotations

from pathlib import Path

from andrea.common.errors import UserError
from andrea.config.text import Documents, Source
from andrea.corpus import text
from andrea.corpus.documents import digest

# Rough rates by which tokens are told from file sizes, measured on the shipped text.
TEXT_PER_GZIP_BYTE = 2.6
TEXT_BYTES_PER_TOKEN = 3.0

READ_BELOW_BYTES = 64_000_000  # on disk: seconds of reading


def tokens(name: str, source: Source, settings: Documents) -> int:
    """Guess the training tokens of a source.

    A packed file of plain JSON Lines is nearly all text: its size says enough. Anything else says
    little by its size (a repository holds far more than its docstrings, a table more than one
    column), so up to `READ_BELOW_BYTES` its documents are read once, each counted once.

    Raises:
        UserError: there is no text, or it cannot be read.
    """
    path = source.train_path
    if not path.exists():
        raise UserError(f"source {name}: {not_there(name, source)}")
    try:
        train, evaluation = text.of(source, settings)
        if source.format in (None, "jsonl") and path.name.endswith(".jsonl.gz"):
            return _of(path.stat().st_size * TEXT_PER_GZIP_BYTE)
        files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
        if sum(file.stat().st_size for file in files) >= READ_BELOW_BYTES:
            return _of(sum(map(_text_bytes, files)))
        different: set[bytes] = set()
        size = 0
        for document in train:
            key = digest(document)
            if key not in different:
                different.add(key)
                size += len(document.encode())
    except UserError as error:
        raise UserError(f"source {name}: {error}") from error
    kept = 1 - settings.probe_share
    if evaluation is None:
        kept *= 1 - settings.val_share
    return round(kept * (_of(size) + len(different)))  # one BOS each


def not_there(name: str, source: Source) -> str:
    """What a source whose text is not there needs."""
    path, hub = source.train_path, source.hub
    if hub is not None and hub.revision is None and not Path(hub.name).is_dir():
        return (
            f"{path}: not there yet; set sources.{name}.hub.revision, which is null, to a commit of"
            f" {hub.name}, then `andrea fetch {name}` brings it"
        )
    if hub is not None:
        return f"{path}: not there yet; `andrea fetch {name}` brings it"
    return f"{path}: no such file or folder"


def _text_bytes(file: Path) -> float:
    packed = file.suffix in (".gz", ".zst", ".parquet")
    return file.stat().st_size * (TEXT_PER_GZIP_BYTE if packed else 1)


def _of(text_bytes: float) -> int:
    return round(text_bytes / TEXT_BYTES_PER_TOKEN)
