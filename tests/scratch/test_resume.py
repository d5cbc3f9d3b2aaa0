from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from andrea.common.errors import UserError
from andrea.common.files import sha256
from andrea.scratch import folder as scratch
from andrea.scratch import resume
from andrea.scratch.folder import Scratch

INPUTS = {"seed": 5, "scale.d_model": 16}


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Scratch]:
    with scratch.hold(tmp_path, "warmup", INPUTS) as folder:
        yield folder


def save(held: Scratch, step: int, kept: Path | None = None) -> Path:
    def write(part: Path) -> None:
        part.write_text(f"step {step}")

    return resume.save(held, step, write, kept)


def newest(held: Scratch) -> tuple[str | None, list[str]]:
    return resume.load_newest(held, Path.read_text)


def steps(held: Scratch) -> list[int]:
    return [scratch.step_of(path) for path in scratch.checkpoints(held.folder)]


def test_the_newest_is_taken_up_and_two_are_kept(held: Scratch) -> None:
    for step in (5, 10, 15):
        path = save(held, step)
    assert steps(held) == [10, 15]
    assert sha256(path).startswith(path.stem.rsplit("-")[-1])
    assert newest(held) == ("step 15", [])


def test_one_that_is_asked_for_is_kept_longer(held: Scratch) -> None:
    sound = save(held, 5)
    for step in (10, 15, 20):
        save(held, step, sound)
    assert steps(held) == [5, 15, 20]
    save(held, 25)
    assert steps(held) == [20, 25]


def test_without_a_checkpoint_there_is_nothing(held: Scratch) -> None:
    assert newest(held) == (None, [])


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
    held: Scratch, spoil: Callable[[Path], None]
) -> None:
    save(held, 5)
    path = save(held, 10)
    spoil(path)
    found, (refused,) = newest(held)
    assert refused.startswith(f"{path}: ")
    assert "\n" not in refused
    assert found == "step 5"
    assert path.with_suffix(".refused").exists()
    assert steps(held) == [5]
    assert newest(held)[1] == []


def test_what_cannot_be_gone_on_from_is_refused_and_the_one_before_taken(held: Scratch) -> None:
    def load(path: Path) -> str:
        if scratch.step_of(path) > 5:
            raise UserError("no snapshot for 10")
        return path.read_text()

    save(held, 5)
    save(held, 10)
    assert resume.load_newest(held, load) == ("step 5", ["no snapshot for 10"])


def test_other_inputs_are_named(held: Scratch) -> None:
    resume.refuse_others(Path("x"), INPUTS, held)
    with pytest.raises(UserError, match=r"^x: made from other inputs: scale.d_model: 32, now 16$"):
        resume.refuse_others(Path("x"), {**INPUTS, "scale.d_model": 32}, held)


@pytest.mark.parametrize("call", ["write_text", "fsync", "replace"])
def test_a_failed_save_leaves_what_was_there(
    held: Scratch, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    save(held, 5)
    before = sorted(held.folder.iterdir())

    def full(*_: object) -> None:
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(os if call == "fsync" else Path, call, full)
        with pytest.raises(OSError, match="no room"):
            save(held, 10)
    assert sorted(held.folder.iterdir()) == before


def test_a_checkpoint_is_synced_before_it_gets_its_name_and_the_old_goes_last(
    held: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    oldest = save(held, 5)
    save(held, 10)
    events: list[str] = []

    def record(owner: object, name: str) -> None:
        call = getattr(owner, name)

        def recorded(*args: object, **more: object) -> object:
            events.append(f"{name} the oldest" if args[0] == oldest else name)
            return call(*args, **more)

        monkeypatch.setattr(owner, name, recorded)

    for name in ("write_text", "replace", "unlink"):
        record(Path, name)
    record(os, "fsync")
    save(held, 15)
    assert [name for name in events if name != "unlink"] == [
        "write_text", "fsync", "replace", "fsync", "unlink the oldest"
    ]  # fmt: skip
