from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from andrea.common.errors import UserError
from andrea.common.files import sha256
from andrea.scratch import Scratch, resume
from andrea.scratch import folder as scratch
from andrea.training import checkpoint, state
from andrea.training.loop import Settings
from andrea.training.state import TrainState

INPUTS = {"seed": 5, "scale.d_model": 16}
New = Callable[[], TrainState]


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Scratch]:
    with scratch.hold(tmp_path, "warmup", INPUTS) as folder:
        yield folder


@pytest.fixture
def new(settings: Settings) -> New:
    return lambda: state.new(settings.scale, settings.optimizer, 3, settings.seed, "cpu")


def at(new: New, step: int) -> TrainState:
    """A state of that step, whose weights tell it."""
    training = new()
    training.step = step
    with torch.no_grad():
        for weights in training.model.parameters():
            weights.fill_(step)
    return training


def save(held: Scratch, training: TrainState, kept: Path | None = None) -> Path:
    return resume.save(held, training, {"rows": [training.step]}, kept)


def whole(step: int) -> None:
    """All that goes on from `step` is there."""


def steps(held: Scratch) -> list[int]:
    return [scratch.step_of(path) for path in scratch.checkpoints(held.folder)]


def same(one: TrainState, other: TrainState, at: Path) -> bool:
    for name, training in (("one", one), ("other", other)):
        checkpoint.save(at / name, training, {})
    return (at / "one").read_bytes() == (at / "other").read_bytes()


def test_the_newest_is_taken_up_and_two_are_kept(held: Scratch, new: New, tmp_path: Path) -> None:
    for step in (5, 10, 15):
        path = save(held, at(new, step))
    assert steps(held) == [10, 15]
    assert sha256(path).startswith(path.stem.rsplit("-")[-1])
    training, journal, refused = resume.load_newest(held, new, whole)
    assert (journal, refused) == ({"rows": [15]}, [])
    assert same(training, at(new, 15), tmp_path)


def test_one_that_is_asked_for_is_kept_longer(held: Scratch, new: New) -> None:
    sound = save(held, at(new, 5))
    for step in (10, 15, 20):
        save(held, at(new, step), sound)
    assert steps(held) == [5, 15, 20]
    save(held, at(new, 25))
    assert steps(held) == [20, 25]


def test_without_a_checkpoint_all_is_new(held: Scratch, new: New, tmp_path: Path) -> None:
    training, journal, refused = resume.load_newest(held, new, whole)
    assert (journal, refused) == (None, [])
    assert same(training, new(), tmp_path)


def damage(path: Path) -> None:
    text = bytearray(path.read_bytes())
    text[len(text) // 2] ^= 1
    path.write_bytes(text)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def make_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("spoil", [damage, cut, empty, make_a_folder])
def test_what_was_not_written_so_is_refused_by_name(
    held: Scratch, new: New, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    save(held, at(new, 5))
    path = save(held, at(new, 10))
    spoil(path)
    training, journal, (refused,) = resume.load_newest(held, new, whole)
    assert refused.startswith(f"{path}: ")
    assert "\n" not in refused
    assert journal == {"rows": [5]}
    assert same(training, at(new, 5), tmp_path)
    assert path.with_suffix(".refused").exists()
    assert steps(held) == [5]
    assert resume.load_newest(held, new, whole)[2] == []


def test_another_format_or_other_inputs_are_refused(
    held: Scratch, new: New, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(Scratch(held.folder, {**INPUTS, "scale.d_model": 32}), at(new, 5))
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "FORMAT", 99)
        save(held, at(new, 10))
    training, journal, refused = resume.load_newest(held, new, whole)
    assert journal is None
    assert "checkpoint format 99, this code reads" in refused[0]
    assert refused[1].endswith("made from other inputs: scale.d_model: 32, now 16")
    assert same(training, new(), tmp_path)


def test_a_state_that_a_refused_file_has_half_filled_is_not_used(
    held: Scratch, new: New, tmp_path: Path
) -> None:
    spoiled = at(new, 5)
    with torch.no_grad():
        list(spoiled.model.parameters())[-1].fill_(torch.nan)
    save(held, spoiled)
    training, journal, (refused,) = resume.load_newest(held, new, whole)
    assert journal is None
    assert "not finite" in refused
    assert same(training, new(), tmp_path)


@pytest.mark.parametrize("call", ["save_file", "fsync", "replace"])
def test_a_failed_save_leaves_what_was_there(
    held: Scratch, new: New, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    save(held, at(new, 5))
    before = sorted(held.folder.iterdir())

    def full(*_: object) -> None:
        raise OSError("no room")

    owner = {"save_file": checkpoint, "fsync": checkpoint.os, "replace": Path}[call]
    with monkeypatch.context() as patch:
        patch.setattr(owner, call, full)
        with pytest.raises(OSError, match="no room"):
            save(held, at(new, 10))
    assert sorted(held.folder.iterdir()) == before


def test_what_safetensors_cannot_write_is_an_error_of_the_system(
    held: Scratch, new: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise checkpoint.SafetensorError("I/O error: No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(OSError, match="No space left"):
        save(held, at(new, 5))


def test_a_checkpoint_is_synced_before_it_gets_its_name_and_the_old_goes_last(
    held: Scratch, new: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(held, at(new, 5))
    save(held, at(new, 10))
    told: list[str] = []

    def tell(owner: object, name: str) -> None:
        call = getattr(owner, name)

        def told_first(*args: object, **more: object) -> object:
            told.append(name)
            return call(*args, **more)

        monkeypatch.setattr(owner, name, told_first)

    tell(checkpoint, "save_file")
    tell(checkpoint.os, "fsync")
    tell(Path, "replace")
    tell(Path, "unlink")
    save(held, at(new, 15))
    assert told == ["save_file", "fsync", "replace", "fsync", "unlink"]


def test_one_without_what_goes_on_from_it_is_refused(held: Scratch, new: New) -> None:
    def check(step: int) -> None:
        if step > 5:
            raise UserError(f"no snapshot for {step}")

    save(held, at(new, 5))
    save(held, at(new, 10))
    training, _, refused = resume.load_newest(held, new, check)
    assert (training.step, refused) == (5, ["no snapshot for 10"])
