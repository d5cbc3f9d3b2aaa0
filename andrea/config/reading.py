"""From `params.yaml` to frozen dataclasses, or to a one-line error that names the key.

YAML is read as DVC reads it (version 1.2): `3e-4` is a number, `on` is text.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from andrea.common.errors import UserError

T = TypeVar("T")


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


def load(path: Path) -> dict[str, Any]:
    """Read `params.yaml` as plain dictionaries.

    Raises:
        UserError: there is no such file, it is not YAML, or it is not a mapping.
    """
    try:
        params = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 at byte {error.start}") from error
    except YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {_reason(error)}") from error
    if not isinstance(params, dict):
        raise UserError(f"{path}: must hold sections, found {params!r}")
    return params


def section(params: Mapping[str, Any], key: str, kind: type[T]) -> T:
    """Read the section `key` (dots go deeper) as the dataclass `kind`.

    Raises:
        UserError: a key is missing or unknown, or a value is not allowed.
    """
    result: T = leaf(params, key, kind)
    return result


def leaf(params: Mapping[str, Any], key: str, kind: Any) -> Any:
    """As `section`, for any type that `convert` knows, `Annotated` ones too."""
    value: Any = params
    path = ""
    for name in key.split("."):
        path = f"{path}.{name}" if path else name
        if not isinstance(value, Mapping) or name not in value:
            raise UserError(f"{path}: missing in params.yaml")
        value = value[name]
    return convert(value, kind, key)


def convert(value: Any, kind: Any, key: str) -> Any:
    """Check `value` against the type `kind` and return it in that type.

    Raises:
        UserError: names `key`, the value and what is allowed.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is typing.Annotated:
        number = convert(value, arguments[0], key)
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
        return _union(value, arguments, key)
    if origin is tuple:
        if not isinstance(value, list):
            raise UserError(f"{key}: {value!r} is not a list")
        return tuple(convert(x, arguments[0], f"{key}[{i}]") for i, x in enumerate(value))
    if origin is Mapping:
        if not isinstance(value, Mapping):
            hint = "; write {} for none" if value is None else ""
            raise UserError(f"{key}: {value!r} is not a mapping of names to values{hint}")
        return {_name(k, key): convert(v, arguments[1], f"{key}.{k}") for k, v in value.items()}
    if is_dataclass(kind):
        return _dataclass(value, kind, key)
    return _scalar(value, kind, key)


def _union(value: Any, options: tuple[Any, ...], key: str) -> Any:
    if value is None and type(None) in options:
        return None
    errors = []
    for option in options:
        if option is not type(None):
            try:
                return convert(value, option, key)
            except UserError as error:
                errors.append(str(error))
    raise UserError(errors[0] if len(errors) == 1 else "; or ".join(errors))


def _dataclass(value: Any, kind: Any, key: str) -> Any:
    if not isinstance(value, Mapping):
        raise UserError(f"{key}: {value!r} is not a section")
    names = [field.name for field in fields(kind)]
    optional = {field.name for field in fields(kind) if field.default is not MISSING}
    for name in value:
        if name not in names:
            raise UserError(f"{key}.{name}: unknown, allowed are {', '.join(names)}")
    hints = typing.get_type_hints(kind, include_extras=True)
    read = {}
    for name in names:
        if name in value:
            read[name] = convert(value[name], hints[name], f"{key}.{name}")
        elif name not in optional:
            raise UserError(f"{key}.{name}: missing in params.yaml")
    result = kind(**read)
    check = getattr(result, "check", None)
    if check is not None:
        check(key)
    return result


def _reason(error: YAMLError) -> str:
    if isinstance(error, MarkedYAMLError) and error.problem and error.problem_mark:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    return " ".join(str(error).split())


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


def _scalar(value: Any, kind: type, key: str) -> Any:
    nouns = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind is float and (whole or (isinstance(value, float) and math.isfinite(value))):
        return float(value)
    if kind is str and isinstance(value, str) and not _is_unicode(value):
        raise UserError(f"{key}: {value!r} holds half a character (a lone surrogate)")
    if (kind is int and whole) or (kind in (str, bool) and isinstance(value, kind)):
        return value
    raise UserError(f"{key}: {value!r} is not {nouns[kind]}")
