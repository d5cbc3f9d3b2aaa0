"""Files from elsewhere: each is refused in one line that names it, and none of them runs code."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given
from hypothesis import settings as budget
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from andrea.common.errors import UserError
from andrea.common.files import sha256
from andrea.exporting import original
from andrea.model.gpt import GPT
from andrea.training import checkpoint, start, state
from andrea.training.run import Run
from tests.runs import new

Reader = Callable[[Path, Run], object]
TENSOR = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}


def good(run: Run, path: Path) -> Path:
    """A checkpoint that every reader takes."""
    checkpoint.save(path, new(run), {"scale": asdict(run.scale)})
    return path


def load(path: Path, run: Run) -> None:
    checkpoint.load(path, new(run))


def load_weights(path: Path, run: Run) -> None:
    checkpoint.load_weights(path, GPT(run.scale))


def begin(path: Path, run: Run) -> None:
    """Under the name that its content asks for."""
    right = path.with_name(start.name_of(sha256(path))) if path.is_file() else path
    if right != path:
        right.write_bytes(path.read_bytes())
    try:
        start.start_from(right, new(run), run.scale)
    except UserError as error:
        raise UserError(str(error).replace(str(right), str(path))) from error


def export(path: Path, run: Run) -> None:
    original.write(path, path.with_name("x.bin"))


def read_original(path: Path, run: Run) -> None:
    found = state.new(run.scale, run.optimizer, 3, None)
    original.read(path, found, run.scale, {})


OURS: tuple[Reader, ...] = (load, load_weights, begin, export)
by_reader = pytest.mark.parametrize("reader", [*OURS, read_original], ids=lambda r: r.__name__)
by_reader_of_ours = pytest.mark.parametrize("reader", OURS, ids=lambda r: r.__name__)


def refused(reader: Reader, path: Path, run: Run) -> str:
    """What a reader says, which must be one printable line that begins with the file."""
    with pytest.raises(UserError) as error:
        reader(path, run)
    told = str(error.value)
    assert told.startswith(f"{path}: ")
    assert told.isprintable()
    assert len(told) < len(str(path)) + 300
    return told.removeprefix(f"{path}: ")


class Hostile:
    """Unpickled, it makes the file that it was given."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.marker,))


def zipped(value: object, path: Path) -> None:
    torch.save(value, path)


def plain(value: object, path: Path) -> None:
    path.write_bytes(pickle.dumps(value))


def behind_a_header(value: object, path: Path) -> None:
    """After the header of an original file, at the length that it says."""
    raw = pickle.dumps(value)
    raw += b"\0" * (-len(raw) % 12)
    path.write_bytes(struct.pack("<ii", 1, len(raw) // 12) + raw)


@by_reader
@pytest.mark.parametrize("write", [zipped, plain, behind_a_header])
@pytest.mark.parametrize("name", ["polish/checkpoint.safetensors", "a.safetensors", "a.bin"])
def test_a_pickle_is_never_opened(
    run: Run, tmp_path: Path, reader: Reader, write: Callable[..., None], name: str
) -> None:
    """Whatever it is called; the same file does its work under the loader that it is made for."""
    path, marker = tmp_path / name, tmp_path / "ran"
    path.parent.mkdir(exist_ok=True)
    write(Hostile(marker), path)
    refused(reader, path, run)
    assert not marker.exists()
    if write is plain:
        pickle.loads(path.read_bytes())
        assert marker.exists()


def test_a_metadata_pickle_stays_text(run: Run, tmp_path: Path) -> None:
    path, marker = tmp_path / "c.safetensors", tmp_path / "ran"
    text = pickle.dumps(Hostile(marker), protocol=0).decode()
    for metadata in ({"andrea": text}, {"andrea": json.dumps(text)}):
        save_file({"weight.token": torch.zeros(4)}, path, metadata)
        for reader in OURS:
            refused(reader, path, run)
    assert not marker.exists()


def file_of(header: object, body: bytes = bytes(16), length: int | None = None) -> bytes:
    """A safetensors file, right or wrong."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


NOTE = json.dumps({"format": checkpoint.FORMAT, "state": {}, "facts": {}, "journal": {}})
PAIR = b'"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}'
BROKEN = {
    "empty": b"",
    "no header": b"\0\0\0",
    "giant header": file_of({"a": TENSOR}, length=2**62),
    "header of 2 GiB": file_of({"a": TENSOR}, length=2**31),
    "header past the end": file_of({"a": TENSOR}, length=500),
    "header of no length": file_of({"a": TENSOR}, length=0),
    "not JSON": file_of(b"hello there"),
    "not UTF-8": file_of(b'{"\xff":1}'),
    "JSON nested too deep": file_of(b"[" * 100_000),
    "a list": file_of([TENSOR]),
    "overlap": file_of({"a": TENSOR, "b": TENSOR}),
    "out of range": file_of({"a": TENSOR | {"shape": [400], "data_offsets": [0, 1600]}}),
    "negative offset": file_of({"a": TENSOR | {"data_offsets": [-4, 12]}}),
    "backwards": file_of({"a": TENSOR | {"data_offsets": [16, 0]}}),
    "hole": file_of({"a": TENSOR, "b": TENSOR | {"data_offsets": [32, 48]}}, bytes(48)),
    "trailing": file_of({"a": TENSOR}, bytes(17)),
    "shape of another size": file_of({"a": TENSOR | {"shape": [5]}}),
    "shape that overflows": file_of({"a": TENSOR | {"shape": [2**40, 2**40]}}),
    "unknown dtype": file_of({"a": TENSOR | {"dtype": "OBJECT"}}),
    "tensor twice": file_of(
        b'{"__metadata__":' + json.dumps({"andrea": NOTE}).encode() + b"," + PAIR + b"," + PAIR
        + b"}"
    ),
    "metadata twice": file_of(
        b'{"__metadata__":{"andrea":' + (b'"1","andrea":%b},' % json.dumps(NOTE).encode()) + PAIR
        + b"}"
    ),
    "metadata a list": file_of({"__metadata__": ["andrea"], "a": TENSOR}),
    "metadata a number": file_of({"__metadata__": {"andrea": 3}, "a": TENSOR}),
    "no metadata": file_of({"a": TENSOR}),
    "other metadata": file_of({"__metadata__": {"format": "pt"}, "a": TENSOR}),
}  # fmt: skip


@by_reader
@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN)
def test_a_broken_container_is_refused(
    run: Run, tmp_path: Path, reader: Reader, raw: bytes
) -> None:
    path = tmp_path / "c.safetensors"
    path.write_bytes(raw)
    told = refused(reader, path, run)
    if reader is not read_original:
        assert told.startswith("not a checkpoint of this project (")


NOTES = {
    "not JSON": "{",
    "empty": "",
    "null": "null",
    "a list": "[1]",
    "text": '"format"',
    "nested too deep": "[" * 100_000,
    "without format": "{}",
    "only a format": json.dumps({"format": checkpoint.FORMAT}),
    "facts a list": NOTE.replace('"facts": {}', '"facts": []'),
    "state null": NOTE.replace('"state": {}', '"state": null'),
    "journal text": NOTE.replace('"journal": {}', '"journal": ""'),
    "format twice": NOTE.replace("{", '{"format": 1, ', 1),
    "not a number": NOTE.replace('"facts": {}', '"facts": {"loss": NaN}'),
    "infinite": NOTE.replace('"facts": {}', '"facts": {"loss": -Infinity}'),
    "a longer number than Python reads": NOTE.replace("{}", '{"step": 1%s}' % ("0" * 5000)),
    "another format": NOTE.replace(f'"format": {checkpoint.FORMAT}', '"format": 99'),
    "a format that is text": NOTE.replace(f": {checkpoint.FORMAT}", ': "\\u001b[2J\\nok"'),
}


@by_reader_of_ours
@pytest.mark.parametrize("note", NOTES.values(), ids=NOTES)
def test_a_broken_note_is_refused(run: Run, tmp_path: Path, reader: Reader, note: str) -> None:
    """Around tensors that are right."""
    path = good(run, tmp_path / "c.safetensors")
    save_file(load_file(path), path, {"andrea": note})
    refused(reader, path, run)


Tensors = dict[str, torch.Tensor]
Spoil = Callable[[Tensors], object]


def dropped(name: str) -> Spoil:
    return lambda tensors: tensors.pop(name)


def replaced(name: str, make: Callable[[torch.Tensor], torch.Tensor]) -> Spoil:
    return lambda tensors: tensors.update({name: make(tensors[name])})


def added(name: str) -> Spoil:
    return lambda tensors: tensors.update({name: torch.zeros(4)})


TENSORS = {
    "missing": dropped("weight.head.weight"),
    "doubles": replaced("weight.head.weight", torch.Tensor.double),
    "bytes": replaced("weight.head.weight", torch.Tensor.byte),
    "transposed": replaced("weight.head.weight", lambda x: x.T.contiguous()),
    "flat": replaced("weight.head.weight", torch.Tensor.flatten),
    "a block too many": added("weight.blocks.1.qkv"),
    "of another kind": added("gradient.token"),
    "with letters that move the cursor": added("weight.\x1b[2J\n"),
    "not finite": replaced("weight.head.weight", lambda x: x / 0),
}


@by_reader_of_ours
@pytest.mark.parametrize("spoil", TENSORS.values(), ids=TENSORS)
def test_wrong_tensors_are_refused(run: Run, tmp_path: Path, reader: Reader, spoil: Spoil) -> None:
    path = good(run, tmp_path / "c.safetensors")
    note, tensors = checkpoint.read_note(path), load_file(path)
    spoil(tensors)
    save_file(tensors, path, {"andrea": json.dumps(note)})
    assert re.match("tensor |weight.head.weight|too short", refused(reader, path, run))


def leaves(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place in some JSON."""
    inside: Any = ()
    if isinstance(value, Mapping):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    return [path] + [place for key, held in inside for place in leaves(held, (*path, key))]


def put(value: Any, path: tuple[str | int, ...], new_value: object) -> Any:
    """The JSON with another value in one place."""
    changed = copy.deepcopy(value)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = new_value
    return changed


@budget(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_state_of_wrong_types_is_refused(run: Run, tmp_path: Path, data: st.DataObject) -> None:
    """One value anywhere in the state becomes one of another type."""
    path = tmp_path / "c"
    training = new(run)
    checkpoint.save(path, training, {})
    note = checkpoint.read_note(path)
    place = data.draw(st.sampled_from(leaves(note["state"])[1:]))
    wrong = data.draw(st.sampled_from(["text", {}, {"a": 1}, [["x"]], -1e999, [None, {}]]))
    spoiled = {**note, "state": put(note["state"], place, wrong)}
    raw = json.dumps(spoiled).replace("-Infinity", "-1e999")
    save_file(load_file(path), path, {"andrea": raw})
    refused(load, path, run)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": -1}, "state.step: -1 is negative"),
        ({"tokens": 1.5}, "state.tokens: 1.5 is not a whole number"),
        ({"step": None}, "state.step: None is not a whole number"),
        ({"skipped": True}, "state.skipped: True is not a whole number"),
        ({"more": 1}, "state.'more' unknown"),
        ({"sampler": {"cursors": [0, 0, 0]}}, "state.sampler.remainders: missing"),
        ({"sampler": {"cursors": [0], "remainders": [0.0]}}, "made with 1 sources, needed are 3"),
    ],
)
def test_a_wrong_state_is_named(
    run: Run, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = good(run, tmp_path / "c")
    note = checkpoint.read_note(path)
    note["state"] |= change
    save_file(load_file(path), path, {"andrea": json.dumps(note)})
    assert refused(load, path, run) == message


def test_a_missing_field_is_named(run: Run, tmp_path: Path) -> None:
    path = good(run, tmp_path / "c")
    whole = checkpoint.read_note(path)
    for name in whole["state"]:
        left = {key: value for key, value in whole["state"].items() if key != name}
        save_file(load_file(path), path, {"andrea": json.dumps({**whole, "state": left})})
        assert refused(load, path, run) == f"state.'{name}' missing"


@by_reader
def test_what_is_no_regular_file_is_refused(run: Run, tmp_path: Path, reader: Reader) -> None:
    """A pipe, which would wait for a writer, and a folder."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        assert "not a regular file" in refused(reader, tmp_path / name, run)


def test_moments_that_overflowed_can_go_on(run: Run, tmp_path: Path) -> None:
    """A run without clipping resumes as it was; only files from elsewhere must be finite."""
    training = new(run)
    training.optimizer.state[training.model.token]["exp_avg_sq"].fill_(torch.inf)
    checkpoint.save(tmp_path / "c", training, {})
    fresh = new(run)
    checkpoint.load(tmp_path / "c", fresh)
    assert fresh.optimizer.state[fresh.model.token]["exp_avg_sq"].isinf().all()
