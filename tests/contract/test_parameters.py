"""`params` in dvc.yaml are the parameters that a stage uses: no less, and no more.

Every stage runs in a small repository with parameters that note what is taken from them. Files that
a stage opens are noted too.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from andrea.config import tree
from andrea.config.training import REGIMES, Warmup
from tests.conftest import untracked
from tests.contract.conftest import ROOT, Stage, stages, value_at

Params = dict[str, Any]

# `scale` chooses what `scales.${scale}` stands for, so DVC follows it without being told.
TEMPLATED = {"scale"}
IN_FILE = {"scale_name": "scale"}  # fields that have another name there
# What can only refuse or delay: how often a regime is saved and whether an alarm halts it leave no
# trace.
HARMLESS = {"scratch.checkpoint_every", "limits.on_degenerate"}
REFUSING = dict.fromkeys(REGIMES, HARMLESS)


class Named(Mapping[str, Any]):
    """Sections by name, such as sources: notes in `used` where their names are listed."""

    def __init__(self, sections: Mapping[str, Any], key: str, used: set[str]) -> None:
        self._sections, self._key, self._used = sections, key, used

    def __getitem__(self, name: str) -> Any:
        return noting(self._sections[name], f"{self._key}.{name}", self._used)

    def __iter__(self) -> Iterator[str]:
        self._used.add(self._key)
        return iter(self._sections)

    def __len__(self) -> int:
        return len(self._sections)


def noting(value: Any, key: str, used: set[str]) -> Any:
    """A part of the parameters that notes in `used` what is taken from it, by dotted name.

    A section becomes a twin of its own kind. That it is handed on is not noted: what counts is
    which of its fields are taken, by its own methods too.
    """
    if is_dataclass(value):
        return _twin(value, f"{key}." if key else "", used)
    if isinstance(value, Mapping) and all(map(is_dataclass, value.values())) and value:
        return Named(value, key, used)
    used.add(key)
    return value


def _twin(section: Any, prefix: str, used: set[str]) -> Any:
    kind = type(section)
    keys = {field.name: prefix + IN_FILE.get(field.name, field.name) for field in fields(kind)}

    def take(self: Any, name: str) -> Any:
        value = object.__getattribute__(self, name)
        return noting(value, keys[name], used) if name in keys else value

    twin = object.__new__(type(kind.__name__, (kind,), {"__getattribute__": take}))
    vars(twin).update(vars(section))
    return twin


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
    config = tree.read(params)  # of whose phases every one takes a step of the bandit
    config = replace(config, curriculum=replace(config.curriculum, random_share=0.0))
    found = {name: stage for name, stage in stages(params).items() if not stage.always}
    used: dict[str, set[str]] = {name: set() for name in found}
    read: dict[str, set[str]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        untracked(patch)  # a tracker shows every parameter and changes no output
        patch.setattr("andrea.planning.estimate.check", lambda _: None)  # can only refuse or warn
        for name, stage in found.items():
            module = importlib.import_module(f"stages.{stage.word}")
            with opened(folder) as seen:
                noted = noting(config, "", used[name])
                getattr(module, stage.word)(noted, *stage.command.split()[3:])
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
    assert "data/raw/plain/train.jsonl" in run.read["documents@plain"]
    assert "data/reports/polish/metrics.json" in run.read["evaluate"]


def test_what_is_listed_is_used(run: Run) -> None:
    """Else changing it would run the stage again for nothing."""
    unused = []
    for name, stage in run.stages.items():
        # One source's documents have no use for `val_share`, with an eval file; another's have.
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


def test_a_section_that_is_used_whole_is_listed_whole(run: Run) -> None:
    """But for `compute`: whoever reads a stage sees which of it makes other bytes."""
    sections = {name: keys for name, keys in run.params.items() if isinstance(keys, Mapping)}
    for name, stage in run.stages.items():
        for section, keys in sections.items():
            if section != "compute":
                assert not {f"{section}.{key}" for key in keys} <= set(stage.params), name


def test_what_is_taken_is_noted() -> None:
    """By properties too, and where a section is copied, changed or handed on."""
    config = tree.load(ROOT / "params.yaml")

    def taken(use: Callable[[tree.Config], object]) -> set[str]:
        used: set[str] = set()
        use(noting(config, "", used))
        return used

    laptop = {"scale", "scales.laptop.segments"}
    assert taken(lambda config: config.scale) == {"scale"}
    assert taken(lambda config: config.scale.vocabulary) == laptop
    sizes = {f"scales.laptop.{name}" for name in ("d_model", "n_layers", "context")}
    assert taken(lambda config: config.scale.parameters) == laptop | sizes
    step = {f"scales.laptop.{name}" for name in ("micro_batch", "grad_accumulation", "context")}
    assert taken(lambda config: config.scale.step_tokens) == {"scale"} | step
    assert taken(lambda config: config.sources["chat"].train_path) == {
        "sources.chat.path", "sources.chat.train"
    }  # fmt: skip
    assert taken(lambda config: config.sources["irc"]) == set()
    assert taken(lambda config: list(config.sources)) == {"sources"}
    assert taken(lambda config: config.seed) == {"seed"}
    assert taken(lambda config: config.tokenizer.weights["chat"]) == {"tokenizer.weights"}
    assert taken(lambda config: asdict(config.track)) == {"track.experiment"}
    assert taken(lambda config: replace(config.track).experiment) == {"track.experiment"}
    polish = {f"polish.{name}" for name in ("sources", "priority", "floor", "floors", "caps")}
    assert taken(lambda config: config.bounds("polish")) == polish | {"sources"}
    assert isinstance(noting(config, "", set()).warmup, Warmup)
