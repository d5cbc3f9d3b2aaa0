"""What every stage's shell shares: parameters in, one-line errors out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from andrea.common import paths
from andrea.common.errors import UserError
from andrea.config import tree


def run(stage: Callable[..., None], *arguments: str) -> None:
    """Call `stage(config, *command_line_arguments)` and exit.

    A user's mistake becomes `error: ...` on standard error and exit status 2.

    Args:
        stage: its module's docstring is the help text.
        arguments: names of the positional arguments that the stage takes.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {stage.__module__}" if stage.__module__ != "__main__" else None,
        description=sys.modules[stage.__module__].__doc__,
        epilog="Parameters come from params.yaml; `dvc repro` runs every stage in order.",
    )
    for name in arguments:
        parser.add_argument(name)
    given = vars(parser.parse_args())
    try:
        config = tree.load(paths.PARAMS)
        stage(config, *(given[name] for name in arguments))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        sys.exit(130)
