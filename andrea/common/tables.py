"""Tables as CSV: the one writer and the one reader.

Lines end in a line feed, floats keep every digit, and what is not finite is an empty field, so that
equal tables give equal bytes.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it takes 0.8 s to import, which most commands need not wait for
    import pandas as pd


def write(
    path: Path,
    table: pd.DataFrame | Sequence[Mapping[str, Any]],
    columns: Sequence[str] | None = None,
    *,
    quote: bool = False,
    digits: int | None = None,
) -> None:
    """Write a table.

    Args:
        table: a frame, or rows as mappings of column to value.
        columns: their order, and all there are if there is no row; None takes the table's own.
        quote: whether all text stands in quotes, for other readers: to them a lone carriage return
            ends a row.
        digits: significant ones that a float keeps; None keeps all.
    """
    import numpy as np
    import pandas as pd

    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(list(table), dtype=object)
    if columns is not None:
        frame = frame.reindex(columns=list(columns))
    frame = frame.replace([np.inf, -np.inf], np.nan)
    shown = None if digits is None else f"%.{digits}g"
    quoting = csv.QUOTE_NONNUMERIC if quote else csv.QUOTE_MINIMAL
    frame.to_csv(path, index=False, lineterminator="\n", quoting=quoting, float_format=shown)


def read(path: Path, *, text: bool = False) -> pd.DataFrame:
    """Read what `write` wrote; empty fields become NaN.

    Args:
        text: whether every field stays the text that it is, empty ones too.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such table.
    """
    import pandas as pd

    if text:
        return pd.read_csv(path, lineterminator="\n", dtype=str, na_filter=False)
    return pd.read_csv(path, lineterminator="\n", keep_default_na=False, na_values=[""])


def numbers(path: Path) -> list[dict[str, float]]:
    """The rows of a table of numbers; empty fields are left out.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such table.
    """
    rows = read(path).to_dict("records")
    return [
        {str(name): float(value) for name, value in row.items() if value == value}  # not NaN
        for row in rows
    ]
