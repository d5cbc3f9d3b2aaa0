"""Epochs planned, and the run that would read a source too often."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.errors import UserError
from andrea.config.outside import Limits
from andrea.mixture.simplex import Region
from andrea.planning.repeats import planned_epochs, refuse_repeats, warn_of_repeats

LIMITED = Limits(max_epochs=100, allow_repeats=False, warn_epochs=20, on_degenerate="halt")
TOKENS = {"plenty": 1_000_000, "little": 100, "none": 0}


@given(
    steps=st.integers(0, 10**6),
    step_tokens=st.integers(1, 10**6),
    tokens=st.lists(st.integers(1, 10**9), min_size=3, max_size=3),
    cap=st.floats(0.35, 1),
)
def test_all_tokens_of_a_plan_are_read(
    steps: int, step_tokens: int, tokens: list[int], cap: float
) -> None:
    """Epochs times size, over all sources, are the tokens of the run, whatever the region."""
    named = dict(zip("abc", tokens, strict=True))
    epochs = planned_epochs(Region(np.zeros(3), np.full(3, cap)), steps, step_tokens, named)
    read = math.fsum(epochs[name] * named[name] for name in named)
    assert read == pytest.approx(steps * step_tokens, rel=1e-9)


def test_an_empty_source_counts_only_where_it_has_weight() -> None:
    """A source without tokens is no obstacle where the regime excludes it."""
    open_region = Region(np.zeros(3), np.ones(3))
    without_it = Region(np.zeros(3), np.array([1.0, 1.0, 0.0]))
    assert planned_epochs(open_region, 5, 8, TOKENS)["none"] == math.inf
    assert planned_epochs(without_it, 5, 8, TOKENS)["none"] == 0


def test_refusal_names_the_source_its_count_and_the_way_out() -> None:
    """The worst source is named, the others are counted."""
    message = (
        r"source little would be read 912 times \(and 1 more too often\), limits.max_epochs is "
        r"100; .* limits.allow_repeats=true"
    )
    with pytest.raises(UserError, match=message):
        refuse_repeats({"plenty": 0.5, "other": 101.0, "little": 912.3}, LIMITED)


def test_the_limit_itself_and_allowed_repeats_pass() -> None:
    """Only more than `max_epochs` is refused, and nothing with `allow_repeats`."""
    refuse_repeats({"little": 100.0}, LIMITED)
    refuse_repeats({"little": math.inf}, replace(LIMITED, allow_repeats=True))
    with pytest.raises(UserError):
        refuse_repeats({"little": math.nextafter(100, 101)}, LIMITED)


def test_one_line_warns_of_all_sources_that_are_read_often() -> None:
    """With their numbers, the largest first; the limit itself is no reason."""
    epochs = {"limit": 20.0, "often": 20.5, "oftener": 1912.34, "once": 1.0}
    [line] = warn_of_repeats(epochs, 20)
    assert line.startswith(
        "planned readings above limits.warn_epochs=20: oftener 1,912.3, often 20.5; "
    )
    assert "\n" not in line
    assert warn_of_repeats({"limit": 20.0, "once": 1.0}, 20) == []
