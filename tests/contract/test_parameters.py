"""`params` in dvc.yaml are the parameters that a stage uses: no less, and no more.

Every stage runs in a small repository with parameters that note what is taken from them. Reading a
section checks all of it; what counts is which of its values are used afterwards.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from andrea.config import reading
from tests.contract.conftest import Stage, stages, value_at

Params = dict[str, Any]
Used = dict[str, set[str]]

# `scale` chooses what `scales.${scale}` stands for, so DVC follows it without being told.
TEMPLATED = {"scale"}
# A shard's stage looks at the names of the other sources only to refuse one that is not there.
REFUSING = {"shard": {"sources"}}


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
    yield SimpleNamespace(log=lambda *_: None)


@pytest.fixture(scope="module")
def run(
    build_repository: Callable[[Path], Params], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Params, dict[str, Stage], Used]]:
    """All stages that write something, run once in order; the parameters that each used."""
    folder = tmp_path_factory.mktemp("repository")
    params = build_repository(folder)
    params["curriculum"]["random_share"] = 0.0  # every phase takes a step of the bandit
    found = {name: stage for name, stage in stages(params).items() if not stage.always}
    used: Used = {name: set() for name in found}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("stages._regime.live", quiet)
        patch.setattr("stages._regime.refuse", lambda _: None)  # can only refuse
        plain = reading._dataclass
        for name, stage in found.items():
            note = used[name]

            def section(value: Any, kind: Any, key: str, note: set[str] = note) -> Any:
                value = value.values_ if isinstance(value, Noting) else value
                return noting(plain(value, kind, key), key, note)

            patch.setattr(reading, "_dataclass", section)
            module = importlib.import_module(f"stages.{stage.word}")
            getattr(module, stage.word)(Noting(params, note), *stage.command.split()[3:])
    yield params, found, used


def test_what_a_stage_uses_is_listed(run: tuple[Params, dict[str, Stage], Used]) -> None:
    """Else changing it would leave a stale result."""
    _, found, used = run
    unlisted = [
        f"{name} uses {key}"
        for name, stage in found.items()
        for key in sorted(used[name] - TEMPLATED - REFUSING.get(stage.word, set()))
        if not any(inside(key, listed) for listed in stage.params)
    ]
    assert not unlisted, "\n".join(unlisted)


def test_what_is_listed_is_used(run: tuple[Params, dict[str, Stage], Used]) -> None:
    """Else changing it would run the stage again for nothing."""
    params, found, used = run
    unused = []
    for name, stage in found.items():
        # What one source's shard has no use for (`val_share` with an eval file), another's has.
        taken = set().union(*(used[other] for other in found if found[other].word == stage.word))
        for listed in stage.params:
            for leaf in leaves(value_at(params, listed), listed):
                if not any(inside(leaf, key) for key in taken):
                    unused.append(f"{name} lists {listed} and has no use for {leaf}")
    assert not unused, "\n".join(unused)


def inside(key: str, section: str) -> bool:
    """Whether a dotted key is the section or lies in it."""
    return f"{key}.".startswith(f"{section}.")


def leaves(tree: Any, path: str) -> Iterator[str]:
    """Dotted names of all that is no section, and of empty sections."""
    if isinstance(tree, Mapping) and tree:
        for name, value in tree.items():
            yield from leaves(value, f"{path}.{name}")
    else:
        yield path
