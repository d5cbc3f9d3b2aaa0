"""A repository of three small made-up sources, in which every stage takes a moment."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from andrea.config import reading
from andrea.config.training import REGIMES
from andrea.scratch import inputs
from andrea.training.tracker import NullTracker
from tests.repository import SMALL_GEOMETRY

Params = dict[str, Any]
ROOT = Path(__file__).parents[1]
SOURCES = ("plain", "packed", "split")
WORDS = (
    "time river stone under over never again light house garden water window letter answer "
    "morning winter summer little yellow simple silver forest second moment people number"
).split()


def documents(seed: int, count: int) -> list[str]:
    """Made-up sentences, no two alike."""
    rng = random.Random(seed)
    return [f"{n}: " + " ".join(rng.choices(WORDS, k=40)) + "." for n in range(count)]


def write_documents(path: Path, texts: list[str]) -> None:
    """JSON Lines, one document a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")


@pytest.fixture(scope="session", autouse=True)
def code_is_read_once() -> Iterator[None]:
    """What a regime imports is looked for at its every start, and does not change under a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "closure", cache(inputs.closure))
        yield


@pytest.fixture(scope="session")
def build_repository() -> Callable[[Path], Params]:
    """`build_repository(folder)`: text and `params.yaml` there; returns what the file holds.

    They are the shipped parameters but for sources, a scale `small` and one thread. Stages take
    them as `andrea.config.tree.read` gives them.
    """
    shipped = reading.load(ROOT / "params.yaml")

    def build(folder: Path) -> Params:
        params = copy.deepcopy(shipped)
        params["sources"] = {}
        for seed, name in enumerate(SOURCES):
            write_documents(folder / "data/raw" / name / "train.jsonl", documents(seed, 60))
            held_out = "eval.jsonl" if name != "split" else None
            if held_out:
                write_documents(folder / "data/raw" / name / held_out, documents(seed + 10, 8))
            params["sources"][name] = {
                "path": f"data/raw/{name}", "train": "train.jsonl", "eval": held_out
            }  # fmt: skip
        write_documents(folder / "data/raw/ood/eval.jsonl", documents(99, 8))
        params["scale"] = "small"
        params["scales"]["small"] = {
            "segments": 40, "d_model": 16, "n_heads": 2, "n_layers": 1, "context": 32,
            "micro_batch": 4, "grad_accumulation": 1, "steps": 40, "bigram_init": 5, "lr": 0.01,
            "log_every": 5, "snapshots": 2,
        }  # fmt: skip
        params["tokenizer"] |= {
            "weights": dict.fromkeys(SOURCES, 1), "least_count": 2, "comparison_bytes": 20000
        }  # fmt: skip
        params["curriculum"] |= {"shortest_phase": 2, "longest_phase": 4}
        params["warmup"] |= {"sources": ["plain", "packed"]}
        params["polish"] |= {
            "priority": "plain", "floor": 0.5, "floors": {"packed": 0.1}, "caps": {"split": 0.3}
        }  # fmt: skip
        params["compute"] |= {"device": "cpu", "dtype": "fp32", "threads": 1}
        params["watch"] |= {"sample_every": 10, "sample_tokens": 16}
        params["scratch"]["checkpoint_every"] = 5
        params["ood"]["path"] = "data/raw/ood/eval.jsonl"
        params["evaluate"] |= {
            "samples": 2, "sample_prompt_tokens": 4, "sample_tokens": 4,
        }  # fmt: skip
        params["geometry"] |= SMALL_GEOMETRY
        save_params(folder, params)
        return params

    return build


def untracked(patch: pytest.MonkeyPatch) -> None:
    """Have the stages that train show nothing in MLflow."""
    for name in REGIMES:
        patch.setattr(f"stages.{name}.live", lambda *_: nullcontext(NullTracker()))


def save_params(folder: Path, params: Params) -> None:
    """Write `params.yaml`; JSON is YAML 1.2."""
    (folder / "params.yaml").write_text(json.dumps(params, indent=1), encoding="utf-8")
