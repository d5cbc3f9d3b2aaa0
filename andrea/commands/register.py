"""A checkpoint as a version in MLflow's registry of models, ready to be served.

Adds the checkpoint of a regime to the MLflow run that made it and to the registry, as a model that
takes text and gives text.

Example: andrea register --name andrea; then `mlflow models serve -m models:/andrea/1 --env-manager
local`
"""

from __future__ import annotations

import argparse
import shlex
import tempfile
from pathlib import Path

from andrea.commands.shared import Commands, configuration, new_command
from andrea.common import paths
from andrea.config.training import REGIMES


def add(commands: Commands) -> None:
    """Make the command known."""
    command = new_command(commands, register, __doc__)
    command.add_argument(
        "regime", metavar="REGIME", nargs="?", default="polish", choices=REGIMES,
        help=f"{', '.join(REGIMES)} (default: polish)",
    )  # fmt: skip
    command.add_argument(
        "--run", metavar="RUN", help="name or id of the run (default: the one of this checkpoint)"
    )
    command.add_argument(
        "--name", default="andrea", help="of the model in the registry (default: andrea)"
    )


def register(given: argparse.Namespace) -> int:
    """Register a checkpoint, and print how it is served."""
    from andrea.exporting import card, figures, folder, trained
    from andrea.tracking import registry, store
    from andrea.tracking.identity import identify, store_uri
    from andrea.training import checkpoint

    config = configuration()
    place = paths.CHECKPOINTS / given.regime
    read = trained.read(place / checkpoint.FILE, paths.TOKENIZER)
    known = figures.gather(
        read, given.name, paths.RAW, paths.SHARDS, paths.CHECKPOINTS, paths.REPORTS
    )
    here = identify(config)
    with tempfile.TemporaryDirectory() as scratch:
        exported = Path(scratch) / registry.FOLDER
        folder.write(exported, read.model, read.tokenizer, card.render(read, known))
        made = registry.register(
            exported, given.name, config.track.experiment, given.run,
            {here.key, here.inputs}, (f"checkpoint.{given.regime}", registry.hash_of(place)),
        )  # fmt: skip
    print(f"{made.name}, version {made.version}, of run {made.run}")
    database = store_uri()
    where = f"MLFLOW_TRACKING_URI={shlex.quote(database)} " * database.startswith(store.SQLITE)
    model = shlex.quote(f"models:/{made.name}/{made.version}")
    print(f"{where}mlflow models serve -m {model} --env-manager local --port 5001")
    return 0
