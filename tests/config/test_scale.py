"""Sizes of the given models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from andrea.config import optimizer, scale
from andrea.config.reading import section

GOLDEN = json.loads((Path(__file__).parents[1] / "golden.json").read_text(encoding="utf-8"))
Change = Callable[..., dict[str, Any]]


@pytest.mark.parametrize(("name", "segments"), [("andrea-12m", 2048), ("andrea-120m", 8192)])
def test_given_scales(changed: Change, name: str, segments: int) -> None:
    """The name alone gives vocabulary, parameters, head width, batch and rate."""
    params = changed({"scale": name})
    active = scale.active(params)
    assert active.parameters == GOLDEN["parameters"][name]
    assert active.vocabulary == GOLDEN["vocabulary"][f"{segments} segments"]
    assert scale.active_segments(params) == segments
    assert active.width // active.heads == GOLDEN["head_width"][f"{active.width}/{active.heads}"]
    assert (active.steps, active.peak_rate) == (200_000, 3e-4)
    rise = section(params, "optimizer", optimizer.Optimizer).warmup * active.steps
    assert rise == 2000


def test_a_step_reads_every_row_of_every_micro_batch(changed: Change) -> None:
    """Tokens are counted with accumulation."""
    params = changed({"scales.laptop.grad_accumulation": 3, "scales.laptop.micro_batch": 5})
    assert scale.active(params).step_tokens == 15 * params["scales"]["laptop"]["context"]
