"""`andrea export`: the ending says as what, and nothing is replaced but what an export made."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import SafetensorError

from andrea import cli
from andrea.common import paths
from andrea.common.files import sha256
from andrea.config.training import Optimizer, Scale
from andrea.exporting import folder
from andrea.tokens.tokenizer import Alphabet, build
from andrea.training import checkpoint, state

Capture = pytest.CaptureFixture[str]
SCALE = Scale(
    segments=2, d_model=8, n_heads=2, n_layers=1, context=8, micro_batch=2, grad_accumulation=1,
    steps=9, bigram_init=0, lr=0.01, log_every=1,
)  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One regime is trained."""
    torch.set_num_threads(1)
    root = tmp_path / "repository"
    (root / paths.TOKENIZER).parent.mkdir(parents=True)
    (root / paths.CHECKPOINTS / "polish").mkdir(parents=True)
    (root / paths.PARAMS).write_text("{}\n")
    scores = np.concatenate([np.full(256, -9.0), [-3.0, -4.0]])
    build(Alphabet([b"the", b" river"], scores)).save(str(root / paths.TOKENIZER))
    training = state.new(SCALE, Optimizer(0.9, 0.999, 1e-8, 0.1, 1.0, 0.1, 0.1), 2, 5, "cpu")
    facts = {
        "scale": asdict(SCALE), "tokenizer": sha256(root / paths.TOKENIZER), "regime": "polish"
    }  # fmt: skip
    checkpoint.save(root / paths.CHECKPOINTS / "polish" / checkpoint.FILE, training, facts)
    monkeypatch.chdir(root)
    return root


def export(*arguments: str, capsys: Capture) -> tuple[int, list[str]]:
    status = cli.main(["export", *arguments])
    told = capsys.readouterr()
    lines = (told.err if status else told.out).splitlines()
    assert all(len(line) <= 100 for line in told.out.splitlines())
    assert len(told.err.splitlines()) == bool(status)
    return status, lines


def test_a_folder(repository: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """From any folder; again with --force, to the same bytes."""
    monkeypatch.chdir(repository / "data")
    Path("made").mkdir()
    status, lines = export("polish", "made/model", capsys=capsys)
    assert status == 0
    n = SCALE.parameters
    size = sum(file.stat().st_size for file in (repository / "data/made/model").iterdir())
    assert lines[0] == f"made/model: step 0, {n:,} parameters, {size:,} bytes"
    model, tokenizer = folder.load(repository / "data/made/model")
    assert sum(weights.numel() for weights in model.parameters()) == n
    assert tokenizer.vocabulary_size == SCALE.vocabulary
    before = {f.name: f.read_bytes() for f in (repository / "data/made/model").iterdir()}
    monkeypatch.chdir(repository / "data")
    assert export("polish", "made/model", capsys=capsys) == (
        2, ["error: made/model: there already; --force replaces it"]
    )  # fmt: skip
    monkeypatch.chdir(repository / "data")
    assert export("polish", "made/model", "--force", capsys=capsys)[0] == 0
    after = {f.name: f.read_bytes() for f in (repository / "data/made/model").iterdir()}
    assert after == before
    assert [path.name for path in (repository / "data/made").iterdir()] == ["model"]


def test_an_empty_folder_is_filled(repository: Path, capsys: Capture) -> None:
    Path("model").mkdir()
    assert export("polish", "model", capsys=capsys)[0] == 0
    assert folder.is_ours(Path("model"))


@pytest.mark.parametrize("name", ["model", "model.onnx", "model.bin"])
def test_nothing_of_the_user_is_replaced(repository: Path, capsys: Capture, name: str) -> None:
    """With --force either: a file, a folder, an export to which something was added, a link."""
    target = Path(name)
    kept = target / "precious" if name == "model" else target
    if name == "model":
        assert export("polish", name, capsys=capsys)[0] == 0
    kept.write_bytes(b"precious")
    for more in ([], ["--force"]):
        status, lines = export("polish", name, *more, capsys=capsys)
        assert status == 2
        assert lines[0].startswith(f"error: {name}: ")
        assert kept.read_bytes() == b"precious"
    if name == "model":
        shutil.rmtree(target)
        target.write_bytes(b"precious")
        assert export("polish", name, "--force", capsys=capsys)[1] == ["error: model: not a folder"]
        target.unlink()
        Path("elsewhere").mkdir()
        target.symlink_to("elsewhere")
        told = "error: model: a link, which an export does not replace"
        assert export("polish", name, "--force", capsys=capsys)[1] == [told]
        assert list(Path("elsewhere").iterdir()) == []


def test_a_card_that_was_edited_is_kept(repository: Path, capsys: Capture) -> None:
    assert export("polish", "model", capsys=capsys)[0] == 0
    card = Path("model/README.md")
    card.write_text(card.read_text() + "Licence: mine.\n")
    told = (
        "error: model/README.md: changed since the export, so it is not replaced; move or remove it"
    )
    assert export("polish", "model", "--force", capsys=capsys) == (2, [told])
    assert card.read_text().endswith("mine.\n")


def test_the_original_file_with_its_segments(repository: Path, capsys: Capture) -> None:
    status, lines = export("polish", "a.bin", capsys=capsys)
    size = 8 + 12 * SCALE.parameters
    assert status == 0
    assert lines == [
        f"a.bin: step 0, {SCALE.parameters:,} parameters, {size:,} bytes",
        "a.segments.json: the segments",
        "not in it: curriculum, sampler, tokens read, and AdamW's counts of updates",
    ]
    assert export("polish", "a.bin", "--force", capsys=capsys)[0] == 0
    Path("a.segments.json").write_text("precious")
    assert export("polish", "a.bin", "--force", capsys=capsys)[1] == [
        "error: a.segments.json: not what an export wrote, so it is not replaced"
    ]


def test_a_checkpoint_elsewhere_with_its_tokenizer(
    repository: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of any repository."""
    elsewhere = repository.parent / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(paths.CHECKPOINTS / "polish" / checkpoint.FILE, elsewhere / "c.safetensors")
    shutil.copy(paths.TOKENIZER, elsewhere / "t.json")
    monkeypatch.chdir(elsewhere)
    assert export("c.safetensors", "m", capsys=capsys)[1][0].startswith("error: params.yaml: ")
    assert export("c.safetensors", "m", "--tokenizer", "t.json", capsys=capsys)[0] == 0
    folder.load(elsewhere / "m")


@pytest.mark.parametrize("target", ["model", "model.onnx", "model.bin"])
def test_mistakes(repository: Path, capsys: Capture, target: str) -> None:
    for regime, message in (
        ("warmup", "data/checkpoints/warmup/checkpoint.safetensors: no such"),
        ("absent", "absent: no such checkpoint; it is warmup, firehose, polish or a .safetensors"),
        ("a\x1b[2J", "a?[2J: no such checkpoint; it is warmup, firehose, polish or"),
        ("params.yaml", "params.yaml: not a "),
    ):
        status, lines = export(regime, target, capsys=capsys)
        assert status == 2
        assert lines[0].startswith(f"error: {message}")
    paths.TOKENIZER.unlink()
    assert export("polish", target, capsys=capsys)[1][0].startswith(f"error: {paths.TOKENIZER}: no")
    assert not Path(target).exists()


def test_a_target_that_cannot_be_written(repository: Path, capsys: Capture) -> None:
    assert export("polish", "a" * 300, capsys=capsys)[1] == [
        f"error: {'a' * 300}: cannot be written (File name too long)"
    ]
    Path("file").touch()
    assert export("polish", "file/model", capsys=capsys)[1] == [
        "error: file/model: there is no folder file"
    ]
    assert Path("file").read_bytes() == b""


@pytest.mark.parametrize("name", ["model", "model.onnx", "model.bin"])
def test_no_folder_is_made_and_no_link_replaced(
    repository: Path, capsys: Capture, name: str
) -> None:
    assert export("polish", f"absent/{name}", capsys=capsys)[1] == [
        f"error: absent/{name}: there is no folder absent"
    ]
    Path(name).symlink_to("nowhere")
    for more in ([], ["--force"]):
        assert export("polish", name, *more, capsys=capsys)[1] == [
            f"error: {name}: a link, which an export does not replace"
        ]


def test_the_ending_of_a_target(repository: Path, capsys: Capture) -> None:
    """In letters of any size; a target that is nothing else is none."""
    assert export("polish", "a.BIN", capsys=capsys)[0] == 0
    assert sorted(path.name for path in Path().glob("a.*")) == ["a.BIN", "a.segments.json"]
    for target in ("", ".bin", "data/.ONNX"):
        status, lines = export("polish", target, capsys=capsys)
        assert status == 2
        assert lines[0].startswith(f"error: TARGET: {target!r} is not allowed, must hold a name")


def test_a_full_disk_leaves_nothing_behind(
    repository: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was there before stays, whole."""
    assert export("polish", "model", capsys=capsys)[0] == 0
    before = sorted(path.name for path in Path().iterdir())

    def full(*_: object) -> None:
        raise SafetensorError("No space left on device")

    monkeypatch.setattr(folder, "save_file", full)
    status, lines = export("polish", "model", "--force", capsys=capsys)
    assert status == 2
    assert lines == ["error: model: cannot be written (No space left on device)"]
    assert sorted(path.name for path in Path().iterdir()) == before
    folder.load(Path("model"))
