"""The commands: what they print, and how they fail."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from andrea import cli
from andrea.text.learning import Alphabet
from andrea.text.tokenizer import build

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
    assert cli.main(["plan", "--no-measure", "-S", "curriculum.max_epochs=0.1"]) == 1
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
    ],
)
def test_mistakes_are_told_in_one_line(arguments: list[str], message: str, capsys: Capture) -> None:
    """On standard error, with exit status 2."""
    assert cli.main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"error: {message}")
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


def test_help_says_what_there_is(capsys: Capture) -> None:
    """Commands in the overview, an example in each."""
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    assert {"plan", "tokenize"} <= set(capsys.readouterr().out.split())
    for command in ("plan", "tokenize"):
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
