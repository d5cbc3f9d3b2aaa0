"""Changes to parameters typed as `key=value`, as `dvc exp run -S` takes them."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from andrea.common.errors import UserError
from andrea.config.renamed import refuse_key


def override(params: dict[str, Any], changes: Iterable[str]) -> dict[str, Any]:
    """Parameters with each change made, a copy; whether they are right is not checked.

    Args:
        changes: `polish.floor=0.5` and the like; dots go deeper, values are YAML.

    Raises:
        UserError: a change is no `key=value`, or its key lies in no section or is one of old.
    """
    changed = copy.deepcopy(params)
    for change in changes:
        # DVC wants a plus before a new key; here both may have one.
        key, equals, text = change.removeprefix("+").partition("=")
        *sections, name = key.split(".")
        if not (equals and all([*sections, name])):
            raise UserError(f"-S {change}: must be key=value, such as polish.floor=0.5")
        for prefix in accumulate([*sections, name], "{}.{}".format):
            refuse_key(prefix)
        place: Any = changed
        for section in sections:
            place = place.get(section) if isinstance(place, dict) else None
        if not isinstance(place, dict) or (not sections and name not in place):
            raise UserError(f"-S {change}: there is no such parameter in params.yaml")
        try:
            place[name] = YAML(typ="safe", pure=True).load(text)
        except YAMLError as error:
            raise UserError(f"-S {change}: {text!r} is not a YAML value") from error
    return changed
