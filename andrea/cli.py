"""The user's commands: one module each in `andrea.commands`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from andrea.common.errors import UserError, line

LONGEST = 2000  # characters of an error that are told


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The exit status: 0, 1 where a planned run would be refused or the latest run was stopped,
        2 after a mistake of the user, which is told in one line.
    """
    try:
        given = parser().parse_args(arguments)
        status: int = given.command(given)
        sys.stdout.flush()
    except UserError as error:
        print(f"error: {line(error, LONGEST)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        _leave_standard_output()
        return 0
    except OSError as error:
        where = "standard output" if error.filename is None else error.filename
        print(f"error: {line(where)}: {error.strerror or error}", file=sys.stderr)
        if error.filename is None:
            _leave_standard_output()
        return 2
    return status


class _Parser(argparse.ArgumentParser):
    """Tells a wrong command line as any other mistake: in one line."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; `{self.prog} --help` shows what is allowed")


def _leave_standard_output() -> None:
    """What is still to be written would only fail again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser() -> argparse.ArgumentParser:
    """Of the whole command line; what is parsed has `command`, the function to call."""
    # Imported here, so that Ctrl-C while they load is met by `main`.
    from andrea.commands import (
        chat,
        compare,
        export,
        fetch,
        generate,
        health,
        import_,
        inspect,
        lm_eval,
        plan,
        recipe,
        register,
        scratch,
        tokenize,
    )

    result = _Parser(
        prog="andrea",
        description="Looks at text and a run before it is started, and uses what came of it.",
        epilog="`dvc repro` trains. `andrea COMMAND --help` tells more about a command.",
    )
    commands = result.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (
        plan, inspect, fetch, recipe, tokenize, health, compare, generate, chat, export, import_,
        register, lm_eval, scratch,
    ):  # fmt: skip
        command.add(commands)
    return result


if __name__ == "__main__":
    sys.exit(main())
