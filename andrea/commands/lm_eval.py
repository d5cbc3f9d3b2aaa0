"""Measure a model on a folder of tasks with lm-eval.

Runs EleutherAI's lm-eval on local tasks: a folder of YAML files whose data lie beside them. Code
that a task names is not run, unless the folder is trusted.

Example: andrea lm-eval polish --tasks my-tasks --out results.json
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from andrea.commands.shared import Commands, new_command
from andrea.commands.writing import add_model, load, number, prepare_output
from andrea.common.codec import Range, decode
from andrea.common.errors import UserError, line

COUNT = Annotated[int, Range(1)]


def add(commands: Commands) -> None:
    """Make the command known."""
    command = new_command(commands, lm_eval, __doc__)
    add_model(command)
    command.add_argument(
        "--tasks", metavar="FOLDER", type=Path, required=True, help="of tasks and their data"
    )
    command.add_argument("--limit", metavar="N", help="most documents of a task (default: all)")
    command.add_argument(
        "--rows", metavar="N", default="8", help="sequences read at once (default: 8)"
    )
    command.add_argument("--out", metavar="FILE", type=Path, help="write the numbers there as JSON")
    command.add_argument("--force", action="store_true", help="replace FILE")
    command.add_argument(
        "--trust-code", action="store_true", help="run Python functions that the tasks name"
    )


def lm_eval(given: argparse.Namespace) -> int:
    """Print one line per number, and write them where asked."""
    prepare_output()
    limit = None if given.limit is None else decode(number(given.limit), COUNT, "--limit")
    rows = decode(number(given.rows), COUNT, "--rows")
    if find_spec("lm_eval") is None:
        raise UserError("lm-eval: not installed; `pip install 'andrea[lm-eval]'` brings it")
    folder, out = Path.cwd() / given.tasks, given.out and Path.cwd() / given.out
    if out and not out.parent.is_dir():
        raise UserError(f"{given.out}: there is no folder {given.out.parent}")
    if out and (out.is_symlink() or (out.exists() and not out.is_file())):
        raise UserError(f"{given.out}: not a regular file")
    if out and out.exists() and not given.force:
        raise UserError(f"{given.out}: there already; --force replaces it")
    model, tokenizer = load(given)

    from andrea.common.files import write_json
    from andrea.exporting import harness

    reader = harness.Reader(model, tokenizer, rows)
    results = harness.evaluate(reader, folder, limit, given.trust_code)
    for task, numbers in results.items():
        for name, value in numbers.items():
            print(f"{line(task)} {line(name)} {value:.6g}")
    if out:
        write_json(out, results)
    return 0
