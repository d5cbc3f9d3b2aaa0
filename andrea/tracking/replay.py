"""MLflow as a projection of the stages' files: what is missing there is written there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from andrea.common import files
from andrea.config.tree import Config
from andrea.tracking import content, store
from andrea.tracking.content import Content
from andrea.tracking.identity import fingerprint, home, identify, store_uri


def track(config: Config) -> None:
    """Make the run of this experiment say what the files in the current folder say.

    Does nothing, and imports no MLflow, when the same content stands there already. A store that
    cannot be written gives a warning: a failing stage would make DVC throw the experiment away.
    """
    identity = identify(config)
    shown = content.read(config)
    stamp = {"content": content.fingerprint(shown), "store": fingerprint(store_uri())}
    if _stamped(stamp_path(identity.key), stamp):
        return
    try:
        run = store.open_run(identity, config.track.experiment, content.tags(config))
        _write(run, shown)
        # A plain `dvc repro` of what an experiment has shown has nothing to add.
        for key in {identity.key, identity.inputs}:
            files.write_json(stamp_path(key), {**stamp, "run": run.identifier})
    except Exception as error:
        store.warn(error)


def stamp_path(key: str) -> Path:
    """The note that says what was written for the identity `key`."""
    return home() / ".scratch" / "track" / f"{key}.json"


def _write(run: store.Run, shown: Content) -> None:
    run.set_params(shown.settings)
    run.add_rows(list(run.missing(shown.rows)))
    curves = {point.key for row in shown.rows for point in row}
    run.set_figures({key: value for key, value in shown.figures.items() if key not in curves})
    run.add_files(shown.artifacts)
    run.add_datasets(shown.datasets)
    run.set_tags({**shown.tags, **content.checkpoints()})
    run.end("FINISHED")


def _stamped(path: Path, stamp: Mapping[str, str]) -> bool:
    try:
        written = files.read_json(path)
        run = written.pop("run")
    except (OSError, ValueError, KeyError, AttributeError):
        return False
    return bool(written == stamp) and store.holds(store_uri(), run)
