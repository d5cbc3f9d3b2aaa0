"""`params.yaml` and other YAML files as plain dictionaries.

YAML is read as DVC reads it (version 1.2): `3e-4` is a number, `on` is text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from andrea.common.errors import UserError


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


def _reason(error: YAMLError) -> str:
    if isinstance(error, MarkedYAMLError) and error.problem and error.problem_mark:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    return " ".join(str(error).split())
