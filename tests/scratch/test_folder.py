from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.common.errors import UserError
from andrea.common.files import sha256
from andrea.scratch import folder as scratch

INPUTS = {"seed": 1, "data.chat": "abc", "scale.d_model": 16}
VALUES = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2))


def unfinished(folder: Path) -> Path:
    path = folder / "step-000000005-0123456789abcdef.safetensors"
    path.write_bytes(b"state")
    return path


def test_equal_inputs_share_a_folder_and_no_others(tmp_path: Path) -> None:
    def folder(stage: str, inputs: dict[str, Any]) -> Path:
        with scratch.hold(tmp_path, stage, inputs) as held:
            assert json.loads((held.folder / scratch.INPUTS).read_text()) == inputs
            return held.folder

    first = folder("warmup", INPUTS)
    assert first == folder("warmup", dict(reversed(INPUTS.items())))
    others = [
        folder("polish", INPUTS),
        *(folder("warmup", {**INPUTS, name: "other"}) for name in INPUTS),
        folder("warmup", {**INPUTS, "more": None}),
    ]
    assert len({first, *others}) == 6


def test_a_second_holder_is_refused_by_the_process_of_the_first(tmp_path: Path) -> None:
    with scratch.hold(tmp_path, "warmup", INPUTS) as held:
        assert scratch.holder(held.folder) == os.getpid()
        with (
            pytest.raises(UserError, match=f"process {os.getpid()} trains warmup") as told,
            scratch.hold(tmp_path, "warmup", INPUTS),
        ):
            pass
        assert "\n" not in str(told.value)
        with scratch.hold(tmp_path, "warmup", {}) as other:
            assert other.folder != held.folder
    assert scratch.holder(held.folder) is None
    assert scratch.holder(tmp_path / "nowhere") is None
    with scratch.hold(tmp_path, "warmup", INPUTS):
        pass


def test_one_who_only_looks_refuses_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flock, calls = scratch.fcntl.flock, []

    def looked_at(file: Any, how: int) -> None:
        calls.append(how)
        if len(calls) == 1:
            raise BlockingIOError
        flock(file, how)

    monkeypatch.setattr(scratch.fcntl, "flock", looked_at)
    with scratch.hold(tmp_path, "warmup", INPUTS) as held:
        monkeypatch.undo()
        assert scratch.holder(held.folder) == os.getpid()


def test_what_a_killed_process_leaves_half_written_goes_and_the_rest_stays(tmp_path: Path) -> None:
    with scratch.hold(tmp_path, "warmup", INPUTS) as held:
        kept = unfinished(held.folder)
        halves = [held.folder / name for name in ("checkpoint.part", ".tmpAb3", "status.json.part")]
        for half in halves:
            half.write_text("{")
        (held.folder / scratch.INPUTS).write_text("{")
    with scratch.hold(tmp_path, "warmup", INPUTS):
        assert not any(half.exists() for half in halves)
        assert kept.exists()
        assert json.loads((held.folder / scratch.INPUTS).read_text()) == INPUTS


def test_unfinished_work_of_other_inputs_is_found(tmp_path: Path) -> None:
    for width, finished in ((8, False), (32, False), (64, True)):
        with scratch.hold(tmp_path, "warmup", {**INPUTS, "scale.d_model": width}) as held:
            made = unfinished(held.folder)
            if finished:
                held.finish(made)
            if width == 32:
                (held.folder / scratch.INPUTS).write_text("no JSON")
    with scratch.hold(tmp_path, "polish", INPUTS) as held:
        unfinished(held.folder)
    with scratch.hold(tmp_path, "warmup", {**INPUTS, "empty": 1}), \
            scratch.hold(tmp_path, "warmup", INPUTS) as held:  # fmt: skip
        unfinished(held.folder)
        found = scratch.others(held)
    assert sorted(found.values()) == [["inputs.json cannot be read"], ["scale.d_model: 8, now 16"]]


def test_finished_scratch_goes_when_its_result_has_arrived(tmp_path: Path) -> None:
    result, other = tmp_path / "result", tmp_path / "other"
    result.write_bytes(b"result")
    other.write_bytes(b"other")
    folders = []
    for made in (result, other, None):
        with scratch.hold(tmp_path, "warmup", {**INPUTS, "made": str(made)}) as held:
            unfinished(held.folder)
            if made:
                held.finish(made)
            folders.append(held.folder)
    (folders[2] / scratch.FINISHED).write_text('{"sha')
    scratch.remove_settled(tmp_path, "warmup", tmp_path / "not there")
    assert all(folder.exists() for folder in folders)
    with scratch.hold(tmp_path, "warmup", {**INPUTS, "made": str(result)}):
        scratch.remove_settled(tmp_path, "warmup", result)
        assert folders[0].exists()
    scratch.remove_settled(tmp_path, "warmup", result)
    assert [folder.exists() for folder in folders] == [False, True, True]
    scratch.remove_settled(tmp_path, "firehose", result)


def test_what_cannot_be_removed_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = tmp_path / "result"
    result.write_bytes(b"result")
    with scratch.hold(tmp_path, "warmup", INPUTS) as held:
        held.finish(unfinished(held.folder))
        held.finish(result)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    for owner, name in ((Path, "unlink"), (scratch.shutil, "rmtree")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, refuse)
            scratch.remove_settled(tmp_path, "warmup", result)
            assert (held.folder / scratch.FINISHED).exists()
    scratch.remove_settled(tmp_path, "warmup", result)
    assert not held.folder.exists()


def test_the_status_is_whole_or_the_one_before(tmp_path: Path) -> None:
    with scratch.hold(tmp_path, "warmup", INPUTS) as held:
        held.show({"step": 1})
        with pytest.raises(ValueError, match="JSON"):
            held.show({"step": float("nan")})
        assert json.loads((held.folder / scratch.STATUS).read_text()) == {"step": 1}


@pytest.mark.parametrize("file", ["", "warmup"])
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, file: str) -> None:
    root = tmp_path / "root"
    if file:
        root.mkdir()
    (root / file).touch()
    with (
        pytest.raises(UserError, match=r"root/warmup.*no place for checkpoints") as told,
        scratch.hold(root, "warmup", INPUTS),
    ):
        pass
    assert "\n" not in str(told.value)


def test_an_error_of_the_block_is_not_taken_for_one_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="mine"), scratch.hold(tmp_path, "warmup", INPUTS):
        raise OSError("mine")


@given(VALUES, VALUES)
def test_differences_name_what_differs(before: dict[str, int], after: dict[str, int]) -> None:
    found = scratch.differences(before, after)
    assert (not found) == (before == after)
    names = [line.split(":")[0] for line in found]
    assert names == sorted(n for n in "abcd" if before.get(n) != after.get(n))


def test_steps_stand_in_names(tmp_path: Path) -> None:
    for step in (999_999_999, 5, 200_000):
        (tmp_path / f"step-{step:09d}-ab.safetensors").touch()
    (tmp_path / "step-000000001-ab.refused").touch()
    found = scratch.checkpoints(tmp_path)
    assert [scratch.step_of(path) for path in found] == [5, 200_000, 999_999_999]
    assert sha256(found[0])


def test_a_run_that_fails_before_it_began_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="wrong"), scratch.hold(tmp_path, "warmup", INPUTS) as held:
        raise UserError("wrong")
    assert not held.folder.exists()
    with pytest.raises(UserError, match="wrong"), scratch.hold(tmp_path, "warmup", INPUTS) as held:
        unfinished(held.folder)
        raise UserError("wrong")
    assert scratch.checkpoints(held.folder)


def test_of_long_lists_only_the_difference_is_told() -> None:
    before, after = ["a", "b", "c"], ["a", "c", "d"]
    assert scratch.differences({"order": before}, {"order": after}) == ["order: ['b'], now ['d']"]
    assert scratch.differences({"order": before}, {"order": before[::-1]}) == [
        "order: in another order"
    ]
