"""The shipped parameters, and copies of them with one value changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from andrea.config import reading

Params = dict[str, Any]
SHIPPED = Path(__file__).parents[2] / "params.yaml"


@pytest.fixture(scope="session")
def shipped() -> Params:
    """`params.yaml` as it ships; not to be changed."""
    return reading.load(SHIPPED)


@pytest.fixture
def changed(shipped: Params) -> Callable[..., Params]:
    """`changed({"polish.floor": 1.2})`: the shipped parameters but for some values."""

    def change(values: Params, without: str | None = None) -> Params:
        params = copy.deepcopy(shipped)
        for key, value in values.items():
            section, name = _parent(params, key)
            section[name] = value
        if without is not None:
            section, name = _parent(params, without)
            del section[name]
        return params

    return change


def _parent(params: Params, key: str) -> tuple[Params, str]:
    *path, name = key.split(".")
    for step in path:
        params = params[step]
    return params, name
