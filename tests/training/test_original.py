from __future__ import annotations

import struct
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st
from numpy.typing import NDArray

from andrea.common.errors import UserError
from andrea.common.files import sha256
from andrea.config import tree
from andrea.config.training import Scale
from andrea.exporting import original
from andrea.training import checkpoint, start, state
from andrea.training.loop import run_regime
from andrea.training.run import Run
from andrea.training.state import TrainState
from tests.runs import in_three_regimes, made_run, new

ROOT = Path(__file__).parents[2]
SHIPPED = tree.load(ROOT / "params.yaml").scales
Floats = NDArray[np.float32]


@pytest.fixture(scope="module")
def run() -> Run:
    """A run of a second; it is never changed."""
    return made_run()


def trained(run: Run) -> TrainState:
    """A state in the middle of the second regime."""
    training = new(run)
    for regime in in_three_regimes(run)[:2]:
        for stats in run_regime(training, regime):
            if stats.step == 16:
                return training
    raise AssertionError


def written(run: Run, training: TrainState, folder: Path) -> Path:
    """A checkpoint as an original file."""
    source = folder / "checkpoint.safetensors"
    checkpoint.save(source, training, {"scale": asdict(run.scale)})
    original.write(source, folder / "original.bin")
    return folder / "original.bin"


def read(run: Run, path: Path, sources: int = 3) -> TrainState:
    """An original file as a state."""
    found = state.new(run.scale, run.optimizer, sources, None)
    original.read(path, found, run.scale, SHIPPED)
    return found


def imported(run: Run, path: Path) -> Path:
    """An original file as a checkpoint under the name of its content."""
    return original.keep(path.parent, read(run, path), {"scale": asdict(run.scale)})


def test_the_file_as_it_is_described(run: Run, tmp_path: Path) -> None:
    """Header, then three parts; in each, rows of q, k and v as three matrices."""
    training = trained(run)
    raw = written(run, training, tmp_path).read_bytes()
    n = run.scale.parameters
    assert struct.unpack_from("<ii", raw) == (17, n)
    assert len(raw) == 8 + 12 * n
    d, vocabulary, context = (
        run.scale.d_model,
        run.scale.vocabulary,
        run.scale.context,
    )
    model = training.model
    qkv, out, up, down = (
        model.get_parameter(f"blocks.0.{leaf}") for leaf in ("qkv", "out", "up", "down")
    )
    q, k, v = qkv.detach().chunk(3)
    order = [model.token, model.position, q, k, v, out, up, down, model.head.weight]
    sizes = [vocabulary * d, context * d, d * d, d * d, d * d, d * d, 4 * d * d, 4 * d * d,
             vocabulary * d]  # fmt: skip
    assert [matrix.numel() for matrix in order] == sizes
    flat = np.concatenate([matrix.detach().numpy().ravel() for matrix in order])
    weights, first, second = np.frombuffer(raw, "<f4", offset=8).reshape(3, n)
    assert flat.tobytes() == weights.tobytes()
    head = training.optimizer.state[model.head.weight]
    assert head["exp_avg"].numpy().tobytes() == first[-vocabulary * d :].tobytes()
    assert head["exp_avg_sq"].numpy().tobytes() == second[-vocabulary * d :].tobytes()
    assert first.any()
    assert second.any()


def test_there_and_back(run: Run, tmp_path: Path) -> None:
    """Every tensor bit for bit, the step; the walk and the count of tokens are new."""
    training = trained(run)
    path = written(run, training, tmp_path)
    found = read(run, path)
    for (name, before), (_, after) in zip(
        checkpoint.named_tensors(training), checkpoint.named_tensors(found), strict=True
    ):
        assert torch.equal(before, after), name
    fresh = checkpoint.encoded(new(run))
    assert checkpoint.encoded(found) == {**fresh, "step": 17}
    raw = path.read_bytes()
    assert original.write(imported(run, path), tmp_path / "again.bin").size_bytes == len(raw)
    assert (tmp_path / "again.bin").read_bytes() == raw


def test_skipped_steps_are_told(run: Run, tmp_path: Path) -> None:
    """An original file has no count of updates."""
    training = new(run)
    training.step = 9
    for weights in training.model.parameters():
        training.optimizer.state[weights]["step"].fill_(7)
    checkpoint.save(tmp_path / "c", training, {"scale": asdict(run.scale)})
    n = run.scale.parameters
    told = original.write(tmp_path / "c", tmp_path / "x.bin")
    assert told == original.Written(9, n, 8 + 12 * n, 2)
    again = read(run, tmp_path / "x.bin")
    counts = [again.optimizer.state[weights]["step"] for weights in again.model.parameters()]
    assert {float(count) for count in counts} == {9.0}


@budget(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), step=st.integers(0, 40))
def test_any_bits_survive(
    run: Run, tmp_path_factory: pytest.TempPathFactory, seed: int, step: int
) -> None:
    """Signed zeros and subnormal numbers too."""
    scale = replace(
        SHIPPED["tiny"], segments=1, d_model=2, n_heads=1, n_layers=2, context=2, steps=40,
        bigram_init=0,
    )  # fmt: skip
    run = replace(run, scale=scale)
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**32, (3, scale.parameters), dtype=np.uint32)
    bits[(bits & 0x7F800000) == 0x7F800000] &= 0x807FFFFF  # subnormal instead of not finite
    bits[2] &= 0x7FFFFFFF
    bits[0, 0] = 0x80000000
    raw = struct.pack("<ii", step, scale.parameters) + bits.tobytes()
    folder = tmp_path_factory.mktemp("bits")
    (folder / "a.bin").write_bytes(raw)
    original.write(imported(run, folder / "a.bin"), folder / "b.bin")
    assert (folder / "b.bin").read_bytes() == raw


def golden(scale: Scale, step: int, path: Path, size_bytes: int) -> None:
    """Write an original file of random numbers; its length is the published one."""
    rng = np.random.default_rng(3)
    with path.open("wb") as file:
        file.write(struct.pack("<ii", step, scale.parameters))
        for part in range(3):
            numbers = rng.standard_normal(scale.parameters, dtype=np.float32)
            file.write((np.abs(numbers) if part == 2 else numbers).tobytes())
    assert path.stat().st_size == size_bytes == original.size_bytes(scale.parameters)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size_bytes"), [("andrea-12m", 153_363_464), ("andrea-120m", 1_184_385_032)]
)
def test_round_trip_of_the_published_sizes(
    run: Run, name: str, size_bytes: int, tmp_path: Path
) -> None:
    """In either direction the same bytes."""
    run = replace(run, scale=SHIPPED[name])
    golden(run.scale, 112_619, tmp_path / "a.bin", size_bytes)
    source = imported(run, tmp_path / "a.bin")
    original.write(source, tmp_path / "b.bin")
    assert sha256(tmp_path / "a.bin") == sha256(tmp_path / "b.bin")
    (tmp_path / "a.bin").unlink()
    first = source.read_bytes()
    assert imported(run, tmp_path / "b.bin") == source
    assert source.read_bytes() == first


def sample(run: Run) -> tuple[bytes, Floats]:
    """A good file: its header and its numbers."""
    n = run.scale.parameters
    numbers = np.random.default_rng(0).random((3, n), dtype=np.float32)
    return struct.pack("<ii", 17, n), numbers


@pytest.mark.parametrize(
    ("header", "cut", "message"),
    [
        ((17, None), slice(0, 5), "truncated, 5 bytes are less than the header's 8"),
        ((17, None), slice(0, 0), "truncated, 0 bytes are less than the header's 8"),
        ((17, None), slice(0, -1), "truncated: "),
        ((17, None), slice(0, 8), "not an original checkpoint: 8 bytes do not hold"),
        ((17, 0), slice(None), "do not hold 0 parameters"),
        ((17, -5), slice(None), "do not hold -5 parameters"),
        ((17, 2**31 - 1), slice(None), "do not hold 2147483647 parameters"),
        ((17, 9_000), slice(None), "trailing bytes: "),
        ((-1, None), slice(None), "step -1 is impossible, the run has steps 0 to 40"),
        ((41, None), slice(None), "step 41 is impossible, the run has steps 0 to 40"),
    ],
)
def test_wrong_sizes_and_steps_are_refused_by_name(
    run: Run, tmp_path: Path, header: tuple[int, int | None], cut: slice, message: str
) -> None:
    _, numbers = sample(run)
    step, n = header
    raw = struct.pack("<ii", step, run.scale.parameters if n is None else n)
    (tmp_path / "x.bin").write_bytes((raw + numbers.tobytes())[cut])
    refused(run, tmp_path / "x.bin", message)


def test_trailing_bytes_are_refused(run: Run, tmp_path: Path) -> None:
    header, numbers = sample(run)
    (tmp_path / "x.bin").write_bytes(header + numbers.tobytes() + b"\0")
    refused(run, tmp_path / "x.bin", "trailing bytes: ")


@pytest.mark.parametrize(
    ("part", "value", "kind"),
    [
        (0, np.nan, "weight"),
        (0, np.inf, "weight"),
        (1, -np.inf, "first_moment"),
        (2, np.nan, "second_moment"),
        (2, np.inf, "second_moment"),
    ],
)
def test_numbers_that_are_not_finite_are_refused_by_name(
    run: Run, tmp_path: Path, part: int, value: float, kind: str
) -> None:
    header, numbers = sample(run)
    numbers[part, -1] = value
    (tmp_path / "x.bin").write_bytes(header + numbers.tobytes())
    message = f"{kind}.head.weight holds a number that is not finite"
    refused(run, tmp_path / "x.bin", message)


def test_negative_second_moments_are_refused(run: Run, tmp_path: Path) -> None:
    header, numbers = sample(run)
    numbers[2, 0] = -1e-30
    (tmp_path / "x.bin").write_bytes(header + numbers.tobytes())
    refused(run, tmp_path / "x.bin", "second_moment.token holds a negative number")


def test_another_scale_is_named(run: Run, tmp_path: Path) -> None:
    mine = run.scale.parameters
    for name in ("tiny", "laptop"):
        n = SHIPPED[name].parameters
        (tmp_path / "x.bin").write_bytes(struct.pack("<ii", 0, n) + bytes(12 * n))
        message = f"{n} parameters, the scale has {mine}; scale={name} fits"
        refused(run, tmp_path / "x.bin", message)
    (tmp_path / "x.bin").write_bytes(struct.pack("<ii", 0, 10) + bytes(120))
    refused(run, tmp_path / "x.bin", f"10 parameters, the scale has {mine}; no scale fits")


def test_what_is_no_file_is_refused(run: Run, tmp_path: Path) -> None:
    refused(run, tmp_path, "not a regular file")
    refused(run, Path("/dev/zero"), "not a regular file")
    refused(run, tmp_path / "absent", "cannot be read (No such file or directory)")


def refused(run: Run, path: Path, message: str) -> None:
    """Reading must fail in one line that names the file."""
    with pytest.raises(UserError) as error:
        read(run, path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def spoiled(run: Run, folder: Path, kind: str, value: float) -> Path:
    """A checkpoint of ours, one of whose tensors holds `value`."""
    training = new(run)
    dict(checkpoint.named_tensors(training))[f"{kind}.head.weight"].data.fill_(value)
    checkpoint.save(folder / "c.safetensors", training, {"scale": asdict(run.scale)})
    return folder / "c.safetensors"


@pytest.mark.parametrize(
    ("kind", "value"),
    [("weight", np.nan), ("first_moment", np.inf), ("second_moment", -1), ("updates", -1)],
)
def test_a_spoiled_checkpoint_is_neither_written_nor_started_from(
    run: Run, tmp_path: Path, kind: str, value: float
) -> None:
    """And what was there before stays as it was."""
    target = tmp_path / "x.bin"
    target.write_bytes(b"precious")
    path = spoiled(run, tmp_path, kind, value)
    path = path.replace(tmp_path / start.name_of(sha256(path)))
    message = rf"{path.name}: (tensor )?{kind}\.head\.weight holds a"
    with pytest.raises(UserError, match=message):
        original.write(path, target)
    fresh = new(run)
    with pytest.raises(UserError, match=message):
        start.start_from(path, fresh, run.scale)
    assert fresh.step == 0
    assert target.read_bytes() == b"precious"
    assert {file.name for file in tmp_path.iterdir()} == {"x.bin", path.name}


def test_a_full_disk_leaves_nothing_behind(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = spoiled(run, tmp_path, "weight", 0)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("andrea.common.files.os.fsync", full)
    with pytest.raises(UserError, match=r"x.bin: cannot be written \(No space left on device\)"):
        original.write(path, tmp_path / "x.bin")
    assert [file.name for file in tmp_path.iterdir()] == ["c.safetensors"]
    with pytest.raises(UserError, match=r"c.safetensors/x.bin: cannot be written"):
        original.write(path, path / "x.bin")


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({}, "scale: None is not a section"),
        ({"scale": {"d_model": 1}}, "scale.segments: missing"),
        (
            {"scale": {"segments": 65279, "d_model": 2**20, "n_layers": 2**20}},
            "number of parameters",
        ),
        ({"scale": {"n_layers": 30}}, "too short for the"),
        ({"scale": {"n_heads": 3}}, "scale.d_model: 16 is not divisible by 3 heads"),
        ({"scale": {"context": 7}}, "tensor weight.position has shape"),
    ],
)
def test_facts_that_do_not_fit_are_refused(
    run: Run, tmp_path: Path, facts: dict[str, Any], message: str
) -> None:
    training = new(run)
    if "scale" in facts and "missing" not in message:
        facts = {"scale": asdict(run.scale) | facts["scale"]}
    checkpoint.save(tmp_path / "c", training, facts)
    with pytest.raises(UserError) as error:
        original.write(tmp_path / "c", tmp_path / "x.bin")
    assert str(error.value).startswith(f"{tmp_path / 'c'}: ")
    assert message in str(error.value)
    assert not str(error.value).endswith("params.yaml")


def test_a_run_starts_from_an_imported_file(run: Run, tmp_path: Path) -> None:
    """Polish alone trains on, from step 25; a regime that is over has no step to do."""
    regimes = in_three_regimes(run)
    training = new(run)
    for regime in regimes[:2]:
        for _ in run_regime(training, regime):
            pass
    path = imported(run, written(run, training, tmp_path))
    fresh = state.new(run.scale, run.optimizer, 3, 99, "cpu")
    before = checkpoint.encoded(fresh)
    start.start_from(path, fresh, run.scale)
    assert checkpoint.encoded(fresh) == {**before, "step": 25}
    assert all(map(torch.equal, fresh.model.parameters(), training.model.parameters()))
    trained_steps = [
        stats.step for regime in in_three_regimes(run) for stats in run_regime(fresh, regime)
    ]
    assert trained_steps == list(range(25, 40))


def test_the_name_must_be_that_of_the_content(run: Run, tmp_path: Path) -> None:
    path = spoiled(run, tmp_path, "weight", 0)
    fresh = new(run)
    with pytest.raises(UserError, match=r"not the content of that name, which belongs in [0-9a-f]"):
        start.start_from(path, fresh, run.scale)
    with pytest.raises(UserError, match="no such checkpoint"):
        start.start_from(tmp_path / "absent", fresh, run.scale)
    with pytest.raises(UserError, match="not a regular file"):
        start.start_from(tmp_path, fresh, run.scale)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_heads": 4}, "made for n_heads 2, the run has 4"),
        ({"d_model": 32}, "made for d_model 16, the run has 32"),
        ({"steps": 16}, "step 17 is not one of a run of 16 steps"),
    ],
)
def test_another_shape_or_length_is_refused(
    run: Run, tmp_path: Path, change: dict[str, int], message: str
) -> None:
    """Heads are no matter of sizes: a file of as many bytes would do another computation."""
    training = new(run)
    training.step = 17
    checkpoint.save(tmp_path / "c", training, {"scale": asdict(run.scale)})
    path = (tmp_path / "c").replace(tmp_path / start.name_of(sha256(tmp_path / "c")))
    scale = replace(run.scale, **change)
    fresh = state.new(scale, run.optimizer, 3, 5, "cpu")
    with pytest.raises(UserError, match=message):
        start.start_from(path, fresh, scale)
