"""What a value becomes by way of a file."""

from __future__ import annotations

import json
from typing import TypeVar

from andrea.common.codec import decode, encode

T = TypeVar("T")


def stored(value: T, *, nan: bool = False) -> T:
    """Written as strict JSON and read again."""
    text = json.dumps(encode(value), allow_nan=False)
    read: T = decode(json.loads(text), type(value), "value", nan=nan)
    return read
