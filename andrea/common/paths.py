"""Every path that `dvc.yaml` also names, relative to the repository."""

from __future__ import annotations

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
