"""`params` in dvc.yaml are the parameters that a stage uses: no less, and no more.

Every stage runs in a small repository with parameters that note what is taken from them. Reading a
section checks all of it; what counts is which of its values are used afterwards. Files that a stage
opens are noted too.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from andrea.config import reading
from tests.contract.conftest import Stage, stages, value_at

Params = dict[str, Any]

# `scale` chooses what `scales.${scale}` stands for, so DVC follows it without being told.
TEMPLATED = {"scale"}
# What can only refuse or delay. A shard's stage looks at the names of the other sources to refuse
# one that is not there; how often a regime is saved and whether an alarm halts it leave no trace.
HARMLESS = {"scratch.checkpoint_every", "watch.max_epochs", "watch.on_degenerate"}
REFUSING = {
    "shard": {"sources"}, "warmup": HARMLESS, "firehose": HARMLESS, "polish": HARMLESS
}  # fmt: skip


class Noting(Mapping[str, Any]):
    """Parameters that note in `used` which leaves are taken and which sections are listed."""

    def __init__(self, values: Mapping[str, Any], used: set[str], path: str = "") -> None:
        self.values_, self.used, self.path = values, used, path

    def __getitem__(self, name: str) -> Any:
        value, path = self.values_[name], f"{self.path}{name}"
        if isinstance(value, Mapping):
            return Noting(value, self.used, f"{path}.")
        self.used.add(path)
        return value

    def __iter__(self) -> Iterator[str]:
        self.used.add(self.path.removesuffix("."))
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)


def noting(section: Any, key: str, used: set[str]) -> Any:
    """The dataclass `section`, noting in `used` which of its fields are taken."""
    kind = type(section)
    names = {field.name for field in fields(kind)}

    def take(self: Any, name: str) -> Any:
        if name in names:
            used.add(f"{key}.{name}")
        return object.__getattribute__(self, name)

    twin = object.__new__(type(kind.__name__, (kind,), {"__getattribute__": take}))
    vars(twin).update(vars(section))
    return twin


@contextmanager
def quiet(*_: object) -> Iterator[SimpleNamespace]:
    """Stands for the tracker, which shows every parameter and changes no output."""
    yield SimpleNamespace(log=lambda *_: None, saw=lambda *_: None)


@dataclass(frozen=True)
class Run:
    """Stages of some parameters, with the keys that each used and the files that it read."""

    params: Params
    stages: dict[str, Stage]
    used: dict[str, set[str]]
    read: dict[str, set[str]]


@contextmanager
def opened(folder: Path) -> Iterator[set[str]]:
    """Files inside `folder` that Python opens to read them, as relative paths."""
    seen: set[str] = set()
    active = True

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if not active or event != "open" or not isinstance(arguments[0], str | Path):
            return
        path = Path(os.path.abspath(arguments[0]))  # noqa: PTH100 (must not look at the disk)
        if "r" in str(arguments[1] or "") and path.is_relative_to(folder):
            seen.add(path.relative_to(folder).as_posix())

    sys.addaudithook(note)  # stays for good, idle
    try:
        yield seen
    finally:
        active = False


@pytest.fixture(scope="module")
def run(
    build_repository: Callable[[Path], Params], tmp_path_factory: pytest.TempPathFactory
) -> Run:
    """All stages that write something, run once in order."""
    folder = tmp_path_factory.mktemp("repository")
    params = build_repository(folder)
    params["curriculum"]["random_share"] = 0.0  # every phase takes a step of the bandit
    found = {name: stage for name, stage in stages(params).items() if not stage.always}
    used: dict[str, set[str]] = {name: set() for name in found}
    read: dict[str, set[str]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("stages._steps.live", quiet)
        patch.setattr("stages._regime.refuse", lambda _: None)  # can only refuse
        patch.setattr("stages._regime.warnings", lambda _: [])  # can only warn
        plain = reading._dataclass
        for name, stage in found.items():
            note = used[name]

            def section(value: Any, kind: Any, key: str, note: set[str] = note) -> Any:
                value = value.values_ if isinstance(value, Noting) else value
                return noting(plain(value, kind, key), key, note)

            patch.setattr(reading, "_dataclass", section)
            module = importlib.import_module(f"stages.{stage.word}")
            with opened(folder) as seen:
                getattr(module, stage.word)(Noting(params, note), *stage.command.split()[3:])
            read[name] = seen
    return Run(params, found, used, read)


def test_what_a_stage_uses_is_listed(run: Run) -> None:
    """Else changing it would leave a stale result."""
    unlisted = [
        f"{name} uses {key}"
        for name, stage in run.stages.items()
        for key in sorted(run.used[name] - TEMPLATED - REFUSING.get(stage.word, set()))
        if not any(inside(key, listed) for listed in stage.params)
    ]
    assert not unlisted, "\n".join(unlisted)


def test_files_that_a_stage_reads_are_listed(run: Run) -> None:
    """Data that it did not list could change without the stage running again.

    What it wrote itself it may read, scratch included; what compiled code opens is not seen.
    """
    for name, stage in run.stages.items():
        parts = [f"{out}.part" for out in stage.outs]
        unlisted = {
            file
            for file in run.read[name]
            if not file.startswith(".scratch/")
            and not any(inside(file, known, "/") for known in (*stage.deps, *stage.outs, *parts))
        }
        assert not unlisted, f"{name} reads {sorted(unlisted)}"
    assert "data/raw/plain/train.jsonl" in run.read["shard@plain"]
    assert "data/reports/polish/metrics.json" in run.read["evaluate"]


def test_what_is_listed_is_used(run: Run) -> None:
    """Else changing it would run the stage again for nothing."""
    unused = []
    for name, stage in run.stages.items():
        # What one source's shard has no use for (`val_share` with an eval file), another's has.
        same = [other for other, its in run.stages.items() if its.word == stage.word]
        taken = set().union(*(run.used[other] for other in same))
        for listed in stage.params:
            for leaf in leaves(value_at(run.params, listed), listed):
                if not any(inside(leaf, key) for key in taken):
                    unused.append(f"{name} lists {listed} and has no use for {leaf}")
    assert not unused, "\n".join(unused)


def inside(key: str, section: str, divider: str = ".") -> bool:
    """Whether a dotted key, or a path, is the section or lies in it."""
    return f"{key}{divider}".startswith(f"{section}{divider}")


def leaves(tree: Any, path: str) -> Iterator[str]:
    """Dotted names of all that is no section, and of empty sections."""
    if isinstance(tree, Mapping) and tree:
        for name, value in tree.items():
            yield from leaves(value, f"{path}.{name}")
    else:
        yield path
