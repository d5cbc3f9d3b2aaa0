"""How far a value lies from a history, by median and median absolute deviation.

Half of a history may be anything before either moves far, so one spike does not hide the next. A
history is of accepted values only: who watches decides which those are.
"""

from __future__ import annotations

import statistics

History = tuple[float, ...]  # the last accepted values, in the order of their arrival

LENGTH = 128
ENOUGH = 16  # the deviation of a median of 16 normal values is 0.31 of theirs; of 8, 0.44
GAUSSIAN = 1.4826  # deviation over median absolute deviation of a normal law (Hampel 1974)
LEAST_SPREAD = 0.01  # of the median: a history without spread makes no last digit an outlier


def accept(history: History, value: float) -> History:
    """With one more value, which must be finite, in the place of the oldest if it is full."""
    return (*history, value)[-LENGTH:]


def median(history: History) -> float | None:
    """Median of the values; None below `ENOUGH` of them."""
    return statistics.median(history) if len(history) >= ENOUGH else None


def z(history: History, value: float) -> float | None:
    """Robust deviations of `value` above the median; None below `ENOUGH` values.

    (value - median) / (1.4826 MAD), the divisor no smaller than `LEAST_SPREAD` of the median
    (Iglewicz and Hoaglin 1993 use the same score, scaled by the constant's inverse).
    """
    middle = median(history)
    if middle is None:
        return None
    deviation = GAUSSIAN * statistics.median(abs(each - middle) for each in history)
    deviation = max(deviation, LEAST_SPREAD * abs(middle))
    return (value - middle) / deviation if deviation > 0 else 0.0
