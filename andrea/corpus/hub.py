"""Data sets of the Hugging Face hub, brought once into a folder that is then read like any other.

The optional library `datasets` streams the rows; nothing of a data set is run. A data set is pinned
to a commit, so that whoever fetches it later gets the same bytes.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from andrea.common.errors import UserError
from andrea.common.files import read_json, sha256, whole_folder, write_json
from andrea.config.text import Hub, Source
from andrea.corpus.formats import chat, opened, records
from andrea.corpus.formats.records import RecordError

TRAIN, EVAL, PROVENANCE = "train.jsonl.gz", "eval.jsonl.gz", "provenance.json"
FORMATS = (None, "jsonl", "chat")
COMMIT = re.compile(r"[0-9a-f]{40}")
ASKED = ("hub", "format", "field")  # what of a source decides which bytes are fetched
LEVEL = 6  # of gzip
# Of the library, read when it is imported: it sends no word of its use, and leaves out torch, which
# takes seconds to load and has no part in reading text.
SETTINGS = {"HF_HUB_DISABLE_TELEMETRY": "1", "USE_TORCH": "0"}

Row = dict[str, Any]


@dataclass(frozen=True)
class Split:
    """Rows of one split, to be read once; `total` is None where the data set does not say."""

    rows: Iterable[Row]
    total: int | None


Watch = Callable[[Split, str], Iterable[Row]]


def check(source: Source, key: str) -> Hub:
    """What a source takes from the hub; `key` is its name in messages, as `sources.chat`.

    Raises:
        UserError: it takes nothing, or its revision, format or files do not fit.
    """
    hub = source.hub
    if hub is None:
        raise UserError(f"{key}.hub: null; only a source with a data set of the hub is fetched")
    if not _is_local(hub) and _looks_local(hub):
        raise UserError(f"{key}.hub.name: {hub.name}: no such folder")
    if not _is_local(hub) and not COMMIT.fullmatch(hub.revision or ""):
        raise UserError(
            f"{key}.hub.revision: {hub.revision!r}; a commit of 40 hex digits is needed, for a"
            " branch may move"
        )
    if source.format not in FORMATS:
        raise UserError(f"{key}.format: {source.format!r}; of the hub, jsonl, chat or null is read")
    held_out = EVAL if hub.eval_split else None
    for name, given, fits in ("train", source.train, TRAIN), ("eval", source.eval, held_out):
        if given != fits:
            raise UserError(f"{key}.{name}: {given!r}; what is fetched is {fits or 'null'}")
    return hub


def is_there(source: Source) -> bool:
    """Whether the folder holds, unchanged, what fetching the source would bring.

    A local data set may have changed: it never counts as there.

    Raises:
        UserError: the folder holds files that were not fetched, which fetching would remove.
    """
    folder = Path(source.path)
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if not names:
        return False
    if PROVENANCE not in names or names - {TRAIN, EVAL, PROVENANCE}:
        raise UserError(f"{folder}: holds files that were not fetched; move them away first")
    try:
        provenance = read_json(folder / PROVENANCE)
        files = {name: facts["sha256"] for name, facts in provenance["files"].items()}
        same = provenance["asked"] == _asked(source)
    except (ValueError, TypeError, KeyError, AttributeError):
        return False
    if source.hub is None or _is_local(source.hub) or not same:
        return False
    return files == {name: sha256(folder / name) for name in names - {PROVENANCE}}


def fetch(source: Source, hub: Hub, watch: Watch, load: Callable[[Hub, str], Split]) -> Row:
    """Bring a data set into the source's folder: its files are whole or as they were.

    Equal rows give equal bytes. Of a row stays what the format reads; every row is checked.

    Args:
        watch: passes the rows of a split on and shows how far it is; takes its name too.
        load: opens a split, as `load` of this module.

    Returns:
        The content of provenance.json.

    Raises:
        UserError: the data set cannot be read, or a row holds no text; names split and row.
    """
    splits = {TRAIN: hub.train_split}
    if hub.eval_split is not None:
        splits[EVAL] = hub.eval_split
    with whole_folder(Path(source.path)) as folder, ExitStack() as failed:
        failed.callback(shutil.rmtree, folder)
        files = {}
        for name, split in splits.items():
            place = f"{hub.name}, split {split}"
            rows = watch(load(hub, split), place)
            files[name] = {"split": split, **_write(folder / name, rows, source, place)}
        provenance = {"asked": _asked(source), "files": files}
        write_json(folder / PROVENANCE, provenance)
        failed.pop_all()
    return provenance


def load(hub: Hub, split: str) -> Split:
    """Open one split of a data set as a stream.

    Raises:
        UserError: the library `datasets` is missing, or cannot open or read the data set.
    """
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import datasets
    except ImportError as error:
        raise UserError(
            'the library `datasets` is needed to fetch: pip install "andrea[hub]"'
        ) from error
    packed = sorted(Path(hub.name).rglob("*.zst")) if _is_local(hub) else ()
    if packed and find_spec("zstandard") is None:
        raise UserError(
            f"{packed[0]}: the library `datasets` cannot unpack Zstandard; unpack it, or put the"
            " folder under data/raw as the `path` of the source, without `hub`: there it is read"
        )
    datasets.disable_progress_bars()
    place = f"{hub.name}, split {split}"
    revision = None if _is_local(hub) else hub.revision
    with _library_errors(place):
        rows = datasets.load_dataset(
            hub.name, hub.subset, split=split, revision=revision, streaming=True
        )
    facts = (rows.info.splits or {}).get(split)
    return Split(_rows(rows, place), facts.num_examples or None if facts else None)


def _rows(rows: Iterable[Row], place: str) -> Iterator[Row]:
    with _library_errors(place):
        yield from rows


@contextmanager
def _library_errors(place: str) -> Iterator[None]:
    """Whatever the library raises is about the data set or the way to it: tell it in a line."""
    try:
        yield
    except Exception as error:
        reason = f"{type(error).__name__}: {opened.first_line(error)[:300]}"
        raise UserError(f"{place}: cannot be read ({reason})") from error


def _write(path: Path, rows: Iterable[Row], source: Source, place: str) -> Row:
    """Write rows as JSON Lines, gzipped without a time; count documents and bytes of text."""
    shape: str | None = source.format
    number = size = 0
    with path.open("wb") as raw, gzip.GzipFile("", "wb", LEVEL, raw, mtime=0) as file:
        for number, row in enumerate(rows, 1):
            if shape is None:
                shape = "chat" if chat.looks_like(row, source.field) else "jsonl"
            try:
                form = chat.FORMAT if shape == "chat" else records.JSONL
                size += len(form.document(row, source.field).encode())
            except RecordError as error:
                raise UserError(f"{place}, row {number}: {error}") from error
            read = chat.needed(row, source.field) if shape == "chat" else [source.field]
            kept = json.dumps({name: row[name] for name in read}, ensure_ascii=False, default=str)
            file.write(kept.encode("utf-8", "backslashreplace") + b"\n")
    if number == 0:
        raise UserError(f"{place}: holds no row")
    return {"documents": number, "bytes": size, "sha256": sha256(path)}


def _is_local(hub: Hub) -> bool:
    return Path(hub.name).is_dir()


def _looks_local(hub: Hub) -> bool:
    """Whether a name can hardly be `owner/name`."""
    beside = "/" in hub.name and hub.revision is None and Path(hub.name).parent.is_dir()
    return hub.name.startswith((".", "/", "~")) or hub.name.count("/") > 1 or beside


def _asked(source: Source) -> Row:
    return {name: value for name, value in asdict(source).items() if name in ASKED}
