"""What tables are made of."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]  # by column
QUARTILES = ("q25", "median", "q75")
