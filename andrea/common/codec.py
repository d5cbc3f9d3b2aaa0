"""The one way between frozen dataclasses and JSON.

The types of a dataclass's fields say what is allowed, so that nothing in a file can become anything
else, and a wrong value is told in one line that names its key, the value and what is allowed.
`params.yaml`, checkpoints, notes in scratch and `geometry.json` all pass here.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, Literal, TypeVar, get_args, get_origin

from andrea.common.errors import UserError

T = TypeVar("T")

SHAPE = "shape"  # stands for an array without a number in it
INFINITE = ("inf", "-inf")


@dataclass(frozen=True)
class Range:
    """Allowed numbers: `low <= x <= high`; `above` leaves out `low`, `below` leaves out `high`."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    below: bool = False

    def __contains__(self, number: float) -> bool:
        left_out = (self.above and number == self.low) or (self.below and number == self.high)
        return self.low <= number <= self.high and not left_out

    def __str__(self) -> str:
        if self.high < math.inf:
            left_out = f", not {_number(self.low)}" * self.above
            left_out += f", not {_number(self.high)}" * self.below
            return f"from {_number(self.low)} to {_number(self.high)}{left_out}"
        return f"above {_number(self.low)}" if self.above else f"{_number(self.low)} or more"


def encode(value: Any, digits: int | None = None) -> Any:
    """As JSON: a dataclass becomes an object, an array nested lists, NaN null, infinity `inf`.

    Args:
        value: dataclasses, mappings, lists, tuples, NumPy arrays, numbers, text and None.
        digits: significant ones that a float keeps; None keeps all. What was encoded once is
            encoded to the same text ever after.

    Raises:
        TypeError: a value of another kind.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name), digits) for field in fields(value)}
    if isinstance(value, list | tuple):
        return [encode(one, digits) for one in value]
    if isinstance(value, Mapping):
        return {str(name): encode(one, digits) for name, one in value.items()}
    if isinstance(value, float):
        return _float(float(value), digits)
    if value is None or isinstance(value, str | int):
        return value
    if hasattr(value, "tolist"):  # NumPy's; parameters are read without importing it
        empty = value.ndim and not value.size
        return {SHAPE: list(value.shape)} if empty else encode(value.tolist(), digits)
    raise TypeError(f"{type(value).__name__} has no JSON here")


def decode(value: Any, kind: Any, key: str, *, nan: bool = False) -> Any:
    """Check JSON or YAML against the type `kind` and return it in that type.

    A dataclass may have a method `check(key)`, which is called on what was read and raises where
    two values do not fit together.

    Args:
        value: mappings, lists, numbers, text and None.
        kind: a dataclass, `Mapping[str, X]`, `dict[str, X]`, `list[X]`, `tuple[X, ...]`,
            `tuple[X, Y]`, a named tuple, `Literal`, a union, an array, a plain type, or one of them
            `Annotated` with what holds the numbers that are allowed.
        key: dotted name for messages.
        nan: whether null stands for NaN where a number is due, and `inf` for infinity: as `encode`
            wrote them.

    Raises:
        UserError: names the key, the value and what is allowed.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is typing.Annotated:
        number = decode(value, arguments[0], key, nan=nan)
        for allowed in arguments[1:]:
            if number is not None and number not in allowed:
                raise UserError(f"{key}: {value!r} is not allowed, must be {allowed}")
        return number
    if origin is Literal:
        if value not in arguments or isinstance(value, bool):
            choices = ", ".join(map(str, arguments))
            raise UserError(f"{key}: {value!r} is not one of {choices}")
        return value
    if origin in (types.UnionType, typing.Union):
        return _union(value, arguments, key, nan)
    if origin in (tuple, list):
        return origin(_items(value, arguments, key, nan))
    if origin in (Mapping, dict):
        if not isinstance(value, Mapping):
            hint = "; write {} for none" if value is None else ""
            raise UserError(f"{key}: {value!r} is not a mapping of names to values{hint}")
        return {
            _name(k, key): decode(v, arguments[1], f"{key}.{k}", nan=nan) for k, v in value.items()
        }
    if is_dataclass(kind):
        return _dataclass(value, kind, key, nan)
    if hasattr(kind, "_fields"):
        return kind(*_items(value, tuple(typing.get_type_hints(kind).values()), key, nan))
    if origin is not None and hasattr(origin, "tobytes"):
        return _array(value, get_args(arguments[1])[0], key)
    return _scalar(value, kind, key, nan)


def leaves(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Everything in nested mappings that is no mapping, under its dotted name."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def _float(value: float, digits: int | None) -> float | str | None:
    if math.isnan(value):
        return None
    if math.isinf(value):
        return str(value)
    if digits is None:
        return value
    rounded = float(f"{value:.{digits}g}") + 0.0
    return rounded if math.isfinite(rounded) else value


def _items(value: Any, kinds: tuple[Any, ...], key: str, nan: bool) -> list[Any]:
    if not isinstance(value, list):
        raise UserError(f"{key}: {value!r} is not a list")
    fixed = len(kinds) > 1 and kinds[1] is not Ellipsis
    if fixed and len(value) != len(kinds):
        raise UserError(f"{key}: {value!r} has not {len(kinds)} entries")
    each = kinds if fixed else [kinds[0]] * len(value)
    return [
        decode(one, kind, f"{key}[{place}]", nan=nan)
        for place, (one, kind) in enumerate(zip(value, each, strict=True))
    ]


def _union(value: Any, options: tuple[Any, ...], key: str, nan: bool) -> Any:
    if value is None and type(None) in options:
        return None
    errors = []
    for option in options:
        if option is not type(None):
            try:
                return decode(value, option, key, nan=nan)
            except UserError as error:
                errors.append(str(error))
    raise UserError(errors[0] if len(errors) == 1 else "; or ".join(errors))


def _dataclass(value: Any, kind: Any, key: str, nan: bool) -> Any:
    if not isinstance(value, Mapping):
        raise UserError(f"{key}: {value!r} is not a section")
    names = [field.name for field in fields(kind) if field.init]
    optional = {
        field.name
        for field in fields(kind)
        if field.default is not MISSING or field.default_factory is not MISSING
    }
    for name in value:
        if name not in names:
            raise UserError(f"{key}.{name}: unknown, allowed are {', '.join(names)}")
    hints = typing.get_type_hints(kind, include_extras=True)
    read = {}
    for name in names:
        if name in value:
            read[name] = decode(value[name], hints[name], f"{key}.{name}", nan=nan)
        elif name not in optional:
            raise UserError(f"{key}.{name}: missing")
    result = kind(**read)
    check = getattr(result, "check", None)
    if check is not None:
        check(key)
    return result


def _array(value: Any, scalar: Any, key: str) -> Any:
    import numpy as np  # here alone, for `andrea tokenize` and the like start without it

    dtype: Any = np.int64 if get_origin(scalar) is np.integer or scalar is np.integer else scalar
    try:
        if isinstance(value, Mapping):
            return np.empty(value[SHAPE], dtype)
        return np.array(value, dtype=dtype)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{key}: {error}") from error


def _name(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise UserError(f"{key}: the name {value!r} is not text")
    return value


def _number(value: float) -> str:
    """As people write it: whole numbers with all their digits."""
    return str(int(value)) if float(value).is_integer() else f"{value:g}"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _scalar(value: Any, kind: type, key: str, nan: bool) -> Any:
    nouns = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind is float and (whole or (isinstance(value, float) and math.isfinite(value))):
        return float(value)
    if kind is float and nan and (value is None or value in INFINITE):
        return math.nan if value is None else float(value)
    if kind is str and isinstance(value, str) and not _is_unicode(value):
        raise UserError(f"{key}: {value!r} holds half a character (a lone surrogate)")
    if kind is Any or (kind is int and whole) or (kind in (str, bool) and isinstance(value, kind)):
        return value
    raise UserError(f"{key}: {value!r} is not {nouns[kind]}")
