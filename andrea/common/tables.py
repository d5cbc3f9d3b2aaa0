"""Tables as CSV: the one writer and the one reader.

Lines end in a line feed, floats keep every digit, and what is not finite is an empty field, so that
equal tables give equal bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # pandas takes half a second, which commands that seldom read a table would feel
    import pandas as pd


def write(
    path: Path,
    table: pd.DataFrame | Sequence[Mapping[str, Any]],
    columns: Sequence[str] | None = None,
) -> None:
    """Write a table.

    Args:
        path: the file.
        table: a frame, or rows as mappings of column to value.
        columns: their order, and all there are if there is no row; None takes the table's own.
    """
    import numpy as np
    import pandas as pd

    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(list(table), dtype=object)
    if columns is not None:
        frame = frame.reindex(columns=list(columns))
    frame = frame.replace([np.inf, -np.inf], np.nan)
    frame.to_csv(path, index=False, lineterminator="\n")


def read(path: Path, text: Sequence[str] = ()) -> pd.DataFrame:
    """Read what `write` wrote; empty fields become NaN.

    Args:
        path: the file.
        text: columns that hold words, whatever these look like; an empty field is an empty word.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such table.
    """
    import pandas as pd

    words = dict.fromkeys(text, str)
    frame = pd.read_csv(
        path, keep_default_na=False, na_values=[""], dtype=words, lineterminator="\n"
    )
    return frame.fillna({name: "" for name in text if name in frame})
