"""Columns of text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from andrea.shell.columns import aligned

cells = st.text(st.sampled_from("ab-:|1.,~é"), max_size=9)
tables = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.tuples(*[cells] * width), min_size=1, max_size=6)
)


@given(rows=tables, sides=st.text(st.sampled_from("<>"), max_size=5))
def test_every_cell_stands_on_its_side_of_its_column(
    rows: list[tuple[str, ...]], sides: str
) -> None:
    """What is not said to stand on the left stands on the right."""
    sides = sides[: len(rows[0])]
    lines = aligned(rows, sides)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        first = 0
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            left = place < len(sides) and sides[place] == "<"
            wanted = cell.ljust(width) if left else cell.rjust(width)
            assert line[first : first + width].ljust(width) == wanted
            first += width + 2
        assert line == line.rstrip()
