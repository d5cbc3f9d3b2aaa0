"""Templates of `lm-eval` tasks, kept from Python and from filling the memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jinja2
import jinja2.sandbox
from jinja2.exceptions import SecurityError
from lm_eval import utils

LARGEST_NUMBER, LARGEST_POWER = 2**64, 64  # that a template computes with
PADDING = {"center", "expandtabs", "format", "format_map", "indent", "ljust", "rjust", "zfill"}


class Templates(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """Templates that can neither reach into Python nor fill the memory by arithmetic."""

    intercepted_binops = frozenset(("*", "**", "%"))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Methods that fill text up to a length are none."""
        return attr not in PADDING and super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Multiply small things only.

        Raises:
            SecurityError: the result could be large.
        """
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        small = numbers and abs(left) < LARGEST_NUMBER and abs(right) < LARGEST_NUMBER
        if operator == "**" and not (small and abs(right) <= LARGEST_POWER):
            raise SecurityError("a power of large numbers")
        if operator == "*" and not small:
            raise SecurityError("a product of large numbers or of text")
        if operator == "%" and not numbers:
            raise SecurityError("a format by %")
        return super().call_binop(context, operator, left, right)


@contextmanager
def sandboxed(on: bool) -> Iterator[None]:
    """Templates of the library cannot reach into Python meanwhile."""
    before = utils.env
    if on:
        utils.env = Templates(
            loader=jinja2.BaseLoader(), undefined=before.undefined, keep_trailing_newline=True
        )
        utils.env.filters.update(before.filters)
        for name in PADDING & utils.env.filters.keys():
            del utils.env.filters[name]
    try:
        yield
    finally:
        utils.env = before
