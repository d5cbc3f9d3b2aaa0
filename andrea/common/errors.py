"""The one exception for a mistake that the user can mend."""

from __future__ import annotations


class UserError(Exception):
    """A mistake in the user's input, told in one line.

    The message names the file, line or parameter, the value found and what is allowed. Stages and
    commands print it as `error: ...` without a traceback; everything else is a fault of ours.
    """
