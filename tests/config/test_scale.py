"""Sizes of the given models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from andrea.config import tree

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests/golden.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "segments"), [("andrea-12m", 2048), ("andrea-120m", 8192)])
def test_given_scales(name: str, segments: int) -> None:
    """The name alone gives vocabulary, parameters, head width, batch and rate."""
    config = tree.load(ROOT / "params.yaml", [f"scale={name}"])
    scale = config.scale
    assert scale.parameters == GOLDEN["parameters"][name]
    assert scale.vocabulary == GOLDEN["vocabulary"][f"{segments} segments"]
    assert scale.segments == segments
    width = GOLDEN["head_width"][f"{scale.d_model}/{scale.n_heads}"]
    assert scale.d_model // scale.n_heads == width
    assert (scale.steps, scale.lr) == (200_000, 3e-4)
    assert config.optimizer.lr_warmup * scale.steps == 2000


def test_a_step_reads_every_row_of_every_micro_batch() -> None:
    """Tokens are counted with accumulation."""
    changes = ["scales.laptop.grad_accumulation=3", "scales.laptop.micro_batch=5"]
    scale = tree.load(ROOT / "params.yaml", changes).scale
    assert scale.step_tokens == 15 * scale.context
