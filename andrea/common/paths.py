"""Every path that `dvc.yaml` also names, relative to the repository."""

from __future__ import annotations

import os
from pathlib import Path

PARAMS = Path("params.yaml")
RAW = Path("data/raw")
DOCUMENTS = Path("data/documents")
OOD = Path("data/ood")
TOKENIZER = Path("data/tokenizer/tokenizer.json")
SHARDS = Path("data/shards")
CHECKPOINTS = Path("data/checkpoints")
REPORTS = Path("data/reports")
GEOMETRY = REPORTS / "geometry"


def repository() -> Path:
    """The repository; for an experiment in a copy of it, the one that it was copied from."""
    return Path(os.environ.get("DVC_ROOT", "."))
