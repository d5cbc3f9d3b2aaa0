"""What each random stream is for: `np.random.default_rng([seed, purpose, ...counters])`.

Numbers are written into results, so members are only ever appended.
"""

from __future__ import annotations

from enum import IntEnum


class Purpose(IntEnum):
    """Second word of every generator key."""

    INITIAL_WEIGHTS = 0
    PHASE_LENGTH = 1
    PHASE_KIND = 2
    DRAW = 3
    PERMUTATION = 4
    EXP3 = 5
    SAMPLE_TEXT = 6
    EXTRACTION = 7
    WATCH_SAMPLE = 8
    WALK_PICTURE = 9
    DIRECTION = 10
    WEIGHT_NOISE = 11
    BASIN_BOOTSTRAP = 12
    RELATED_WORDS = 13
    HEAD_SUBSPACES = 14
    REPEATED_TOKENS = 15
    WRITING = 16
