"""Results as JSON and back: any frozen dataclass of numbers, text, arrays and other dataclasses.

The types of its fields say how to read it, so that nothing in the file can become anything else.
Floats keep six significant digits; what was encoded once is encoded to the same text ever after.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

DIGITS = 6
SHAPE = "shape"  # stands for an array without a number in it

T = TypeVar("T")


def encode(value: Any) -> Any:
    """As JSON: NaN becomes null, infinity `inf`, an array nested lists, a dataclass an object.

    Raises:
        TypeError: a value of another kind.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return encode(value.tolist()) if value.size else {SHAPE: list(value.shape)}
    if isinstance(value, list | tuple):
        return [encode(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): encode(one) for name, one in value.items()}
    if isinstance(value, float):
        return _number(float(value))
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON here")


def decode(value: Any, kind: type[T]) -> T:
    """What `encode` made of a `kind`.

    Raises:
        ValueError: the JSON is of something else; names the field.
    """
    found: T = _decode(value, kind, kind.__name__)
    return found


def _number(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return float(f"{value:.{DIGITS}g}") + 0.0 if math.isfinite(value) else str(value)


def _decode(value: Any, kind: Any, name: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    try:
        if is_dataclass(kind):
            hints = get_type_hints(kind)
            if not isinstance(value, dict) or value.keys() != {f.name for f in fields(kind)}:
                raise ValueError("not its fields")
            return kind(**{key: _decode(value[key], hints[key], f"{name}.{key}") for key in value})  # type: ignore[operator]
        if origin is np.ndarray:
            return _array(value, get_args(arguments[1])[0])
        if origin in (types.UnionType, Union):
            [plain] = [one for one in arguments if one is not type(None)]
            return None if value is None else _decode(value, plain, name)
        if origin in (list, tuple):
            if not isinstance(value, list):
                raise ValueError("not a list")
            return origin(_decode(x, arguments[0], f"{name}[{i}]") for i, x in enumerate(value))
        if origin is Literal:
            if value not in arguments:
                raise ValueError(f"{value!r} is not one of {arguments}")
            return value
        if isinstance(value, dict):
            return {key: _decode(one, arguments[1], f"{name}.{key}") for key, one in value.items()}
        if kind is float:
            return math.nan if value is None else float(value)
        if not isinstance(value, kind):
            raise ValueError(f"{value!r:.40} is not {kind.__name__}")
        return value
    except (TypeError, ValueError) as error:
        told = str(error)
        raise ValueError(told if told.startswith(f"{name}") else f"{name}: {told}") from error


def _array(value: Any, scalar: Any) -> Any:
    if isinstance(value, dict):
        return np.empty(value[SHAPE], _dtype(scalar))
    return np.array(value, dtype=_dtype(scalar))


def _dtype(scalar: Any) -> Any:
    return np.int64 if get_origin(scalar) is np.integer or scalar is np.integer else scalar
