"""A recipe: a file of the parameters that differ from `params.yaml`, and its way into that file."""

from __future__ import annotations

import copy
import io
from collections.abc import Mapping, MutableMapping
from typing import Any

from ruamel.yaml import YAML

NO_WRAP = 10_000  # columns


def merged(params: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with a recipe's in place of them; sections are merged, all else is replaced."""
    result = dict(copy.deepcopy(params))
    _merge(result, recipe)
    return result


def changes(params: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, Any]:
    """What a recipe changes, by dotted key, with the new value."""
    changed: dict[str, Any] = {}
    for key, value in recipe.items():
        old = params.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            changed |= {f"{key}.{deeper}": new for deeper, new in changes(old, value).items()}
        elif key not in params or old != value:
            changed[key] = value
    return changed


def write(text: str, recipe: Mapping[str, Any]) -> str:
    """The text of `params.yaml` with a recipe merged in; comments stay."""
    yaml = YAML(typ="rt")
    yaml.width = NO_WRAP
    yaml.preserve_quotes = True
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.representer.add_representer(
        type(None), lambda dumper, _: dumper.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    params = yaml.load(text)
    _merge(params, recipe)
    written = io.StringIO()
    yaml.dump(params, written)
    return written.getvalue()


def _merge(params: MutableMapping[str, Any], recipe: Mapping[str, Any]) -> None:
    for key, value in recipe.items():
        old = params.get(key)
        if isinstance(value, Mapping) and isinstance(old, MutableMapping):
            _merge(old, value)
        elif key not in params or old != value:
            params[key] = copy.deepcopy(value)
