"""The commands: what they print, and how they fail."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from andrea import cli
from andrea.common import paths
from andrea.common.files import sha256
from andrea.config import tree
from andrea.tokens.learning import Alphabet
from andrea.tokens.tokenizer import build
from andrea.training import checkpoint, state

ROOT = Path(__file__).parents[1]
Params = dict[str, Any]
ABSENT = "cuda" if sys.platform == "darwin" else "mps"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def repository(
    build_repository: Callable[[Path], Params], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The small repository, entered; its tokenizer knows two segments."""
    monkeypatch.chdir(tmp_path)
    build_repository(tmp_path)
    (tmp_path / "data/tokenizer").mkdir()
    library = build(Alphabet([b" river", b"th"], [-9.0] * 256 + [-1.0, -1.0]))
    library.save(str(tmp_path / "data/tokenizer/tokenizer.json"))
    return tmp_path


def test_plan(repository: Path, capsys: Capture) -> None:
    """Sizes of the small run; nothing of it is refused, and nothing is written."""
    before = sorted(repository.rglob("*"))
    assert cli.main(["plan", "--no-measure"]) == 0
    told = capsys.readouterr().out
    assert "vocabulary  297\n" in told
    assert "128 a step, 5,120 in all" in told
    assert told.endswith("nothing would be refused\n")
    assert sorted(repository.rglob("*")) == before


@pytest.mark.usefixtures("repository")
def test_plan_of_a_run_that_is_refused(capsys: Capture) -> None:
    """Exit status 1, and why."""
    assert cli.main(["plan", "--no-measure", "-S", "limits.max_epochs=0.1"]) == 1
    assert "refused: source plain would be read" in capsys.readouterr().out
    assert cli.main(["plan", "-S", f"compute.device={ABSENT}"]) == 1
    assert f"refused: compute.device: '{ABSENT}' is not on" in capsys.readouterr().out


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan", "-S", "polish.floor=1.2"], "polish.floor: 1.2 is not allowed, must be from 0"),
        (["plan", "-S", "polish.flor=0.5"], "polish.flor: unknown, allowed are"),
        (["plan", "-S", "flor=0.5"], "-S flor=0.5: there is no such parameter"),
        (["tokenize", "a", "--tokenizer", "x.json"], "x.json: no tokenizer there"),
        (["tokenize", "a", "--tokenizer", "params.yaml"], "params.yaml: not a tokenizer file"),
        (["tokenize", os.fsdecode(b"a\xff")], "TEXT: invalid UTF-8 at byte 1"),
        (["import", "absent.bin"], "{here}/absent.bin: cannot be read (No such file or directory)"),
        (["import", "params.yaml"], "{here}/params.yaml: not an original checkpoint: "),
        (["import", "data"], "{here}/data: not a regular file"),
        (["import", "absent.bin", "-S", "scale=huge"], "scale: 'huge' is not one of tiny, laptop"),
        (["import", "a" * 300], "{here}/aaaa"),
        (["export", "polish", "x.bin"], "data/checkpoints/polish/checkpoint.safetensors: no such"),
        (["export", "params.yaml", "x.bin"], "params.yaml: not a checkpoint of this project"),
        (["export", "absent", "x.bin"], "absent: no such checkpoint"),
        (["export", "polish", "data"], "data: there already, and not as an export wrote it"),
        (["export", "polish", "params.yaml"], "params.yaml: not a folder"),
        (["export", "polish", "a" * 300], "aaaa"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments: list[str], message: str, capsys: Capture) -> None:
    """On standard error, with exit status 2."""
    assert cli.main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"error: {message.format(here=Path.cwd())}")
    assert told.err.count("\n") == 1


def test_outside_of_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """It is said where the commands look."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(["plan"]) == 2
    assert capsys.readouterr().err.startswith("error: params.yaml: neither in ")


def test_tokenize(repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Pieces, ids and the ratio, from any folder of the repository."""
    monkeypatch.chdir(repository / "data/raw")
    assert cli.main(["tokenize", "the river\n"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "th│e│·river│⏎", "258 101 257 10", "4 tokens, 10 bytes, 2.50 bytes per token"
    ]  # fmt: skip


def test_tokenize_from_standard_input(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """With a tokenizer named from where the user stands."""
    monkeypatch.chdir(repository / "data")
    for raw, status in ((b"", 0), ("é".encode(), 0), (b"\xff", 2)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
        assert cli.main(["tokenize", "-", "--tokenizer", "tokenizer/tokenizer.json"]) == status
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        "", "", "0 tokens, 0 bytes",
        "<c3>│<a9>", "195 169", "2 tokens, 2 bytes, 1.00 bytes per token",
    ]  # fmt: skip
    assert told.err == "error: standard input: invalid UTF-8 at byte 0\n"


@pytest.fixture
def small(repository: Path) -> Path:
    """A checkpoint of the small repository after half of its steps, where the firehose has it.

    Its tokenizer has as many ids.
    """
    config = tree.load(paths.PARAMS)
    training = state.new(config.scale, config.optimizer, 3, 7, "cpu")
    training.step = 20
    for moments in training.optimizer.state.values():
        moments["step"].fill_(18)
    path = repository / paths.CHECKPOINTS / "firehose" / checkpoint.FILE
    path.parent.mkdir(parents=True)
    checkpoint.save(path, training, {"scale": asdict(config.scale)})
    segments = [b"%02d" % number for number in range(40)]
    build(Alphabet(segments, [-9.0] * 296)).save(str(repository / paths.TOKENIZER))
    return path


@pytest.mark.usefixtures("small")
def test_export_and_import(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """From any folder; what is lost, what is left to train, and how."""
    monkeypatch.chdir(repository / "data/raw")
    assert cli.main(["export", "firehose", "a.bin"]) == 0
    size = (repository / "data/raw/a.bin").stat().st_size
    assert capsys.readouterr().out.splitlines() == [
        f"a.bin: step 20, {(size - 8) // 12:,} parameters, {size:,} bytes",
        "a.segments.json: the segments",
        "not in it: curriculum, sampler, tokens read, and AdamW's counts of updates",
        "its reader takes the step for them, 2 more than there were",
    ]
    monkeypatch.chdir(repository / "data/raw")
    assert cli.main(["import", "a.bin", "-S", "polish.floor=0.4"]) == 0
    (made,) = (repository / "data/imported").iterdir()
    assert made.name == f"{sha256(made)[:16]}.safetensors"
    assert capsys.readouterr().out.splitlines() == [
        f"data/imported/{made.name}: step 20; curriculum, sampler and count of tokens start anew",
        "warmup has nothing to do, firehose trains steps 20 to 23, polish trains steps 23 to 40",
        f"dvc exp run -S polish.floor=0.4 -S warmup.start=data/imported/{made.name}",
    ]
    assert cli.main(["import", "data/raw/a.bin"]) == 0
    assert list((repository / "data/imported").iterdir()) == [made]
    assert cli.main(["export", str(made), "b.bin"]) == 0
    assert Path("b.bin").read_bytes() == Path("data/raw/a.bin").read_bytes()
    assert "its reader" not in capsys.readouterr().out


def test_export_replaces_only_when_told(small: Path, capsys: Capture) -> None:
    """And never the checkpoint itself, nor what is no export."""
    target = Path("a.bin")
    target.write_bytes(b"precious")
    for more in ([], ["--force"]):
        assert cli.main(["export", "firehose", "a.bin", *more]) == 2
        assert target.read_bytes() == b"precious"
    target.unlink()
    assert cli.main(["export", "firehose", "a.bin"]) == 0
    assert cli.main(["export", "firehose", "a.bin"]) == 2
    assert cli.main(["export", "firehose", "a.bin", "--force"]) == 0
    assert target.read_bytes()[:4] == struct.pack("<i", 20)
    before = small.read_bytes()
    Path("c.bin").hardlink_to(small)
    assert cli.main(["export", "firehose", "c.bin", "--force"]) == 2
    assert capsys.readouterr().err.endswith("c.bin: is the checkpoint itself\n")
    assert small.read_bytes() == before


def test_a_finished_run_leaves_nothing_to_train(repository: Path, capsys: Capture) -> None:
    """As the original's last file does; one step more is impossible."""
    n = tree.load(paths.PARAMS).scale.parameters
    Path("a.bin").write_bytes(struct.pack("<ii", 40, n) + bytes(12 * n))
    assert cli.main(["import", "a.bin"]) == 0
    assert "polish has nothing to do\n" in capsys.readouterr().out
    Path("a.bin").write_bytes(struct.pack("<ii", 41, n) + bytes(12 * n))
    assert cli.main(["import", "a.bin"]) == 2
    assert capsys.readouterr().err.endswith("step 41 is impossible, the run has steps 0 to 40\n")
    assert len(list((repository / "data/imported").iterdir())) == 1


@pytest.mark.usefixtures("small")
def test_a_full_disk_is_told(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """In one line, with nothing left behind."""
    assert cli.main(["export", "firehose", "a.bin"]) == 0

    def full(path: Path, *_: object) -> None:
        path.write_bytes(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("andrea.training.checkpoint.save", full)
    capsys.readouterr()
    assert cli.main(["import", "a.bin"]) == 2
    told = capsys.readouterr().err
    assert told == "error: data/imported: cannot be written ([Errno 28] No space left on device)\n"
    assert list((repository / "data/imported").iterdir()) == []


def test_help_says_what_there_is(capsys: Capture) -> None:
    """Commands in the overview, an example in each."""
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    assert {"plan", "tokenize", "export", "import"} <= set(capsys.readouterr().out.split())
    for command in ("plan", "tokenize", "export", "import"):
        with pytest.raises(SystemExit, match="0"):
            cli.main([command, "--help"])
        assert f"Example: andrea {command}" in capsys.readouterr().out


def test_a_process_of_its_own_starts_without_torch(repository: Path) -> None:
    """`andrea tokenize` and `plan --no-measure` must answer at once; a closed pipe is no error."""
    code = (
        "import sys; from andrea.cli import main; "
        "status = main(['tokenize', 'th']) + main(['plan', '--no-measure']); "
        "sys.exit(status or 'torch' in sys.modules or 'mlflow' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=repository, env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("th\n258\n")


def test_ctrl_c_while_the_commands_load_is_no_traceback(tmp_path: Path) -> None:
    """A stub of a command's module sends the signal where the others are still to be imported."""
    start = (
        "import os, signal, sys\n"
        "from andrea import cli\n"
        # A process that a shell starts in the background inherits that it is ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Stop:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'andrea.commands.tokenize':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "assert 'andrea.commands.plan' not in sys.modules\n"
        "sys.meta_path.insert(0, Stop())\n"
        "sys.exit(cli.main(['plan']))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", start], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


@pytest.mark.parametrize("line", [[], ["nosuch"], ["plan", "--bogus"], ["export", "polish"]])
def test_a_wrong_command_line_is_told_in_one_line(line: list[str], capsys: Capture) -> None:
    assert cli.main(line) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    assert "--help" in told
