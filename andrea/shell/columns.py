"""Text in columns, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], sides: str = "<") -> list[str]:
    """A line per row; columns stand two spaces apart.

    Args:
        rows: cells, as many in each row.
        sides: of the first columns, `<` for text and `>` for numbers; the others are numbers.
    """
    from tabulate import tabulate  # 80 ms, which only a table is worth

    names = {"<": "left", ">": "right"}
    table = tabulate(
        rows, tablefmt="plain", disable_numparse=True,
        colalign=[names[side] for side in sides.ljust(len(rows[0]), ">")],
    )  # fmt: skip
    return [line.rstrip() for line in table.split("\n")]
