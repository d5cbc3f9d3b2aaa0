"""`andrea generate` and `andrea chat`, over a small model whose texts are noise."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from andrea import cli
from andrea.commands import writing
from andrea.common import paths
from andrea.exporting import folder, trained
from andrea.tokens.tokenizer import Tokenizer
from andrea.training import checkpoint
from andrea.writing.load import load

from .made import Params, make

ROOT = Path(__file__).parents[2]
Capture = pytest.CaptureFixture[str]
CHECKPOINT = paths.CHECKPOINTS / "polish" / checkpoint.FILE


@pytest.fixture(scope="module")
def made(
    build_repository: Callable[[Path], Params], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    place = tmp_path_factory.mktemp("made")
    make(place, build_repository)
    return place


@pytest.fixture
def repository(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    return made


def typed(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """On standard input, which is no terminal."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))


def run(*arguments: str, capsys: Capture) -> str:
    assert cli.main(arguments) == 0
    told = capsys.readouterr()
    assert told.err == ""
    return told.out


def generated(*arguments: str, capsys: Capture) -> list[dict[str, Any]]:
    out = run("generate", "--json", *arguments, capsys=capsys)
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.usefixtures("repository")
def test_samples_are_told_apart_and_come_again_from_a_seed(capsys: Capture) -> None:
    asked = ("--prompt", "ab", "--samples", "3", "--tokens", "20", "--seed", "5")
    objects = generated(*asked, capsys=capsys)
    assert [o["sample"] for o in objects] == [1, 2, 3]
    assert len({o["text"] for o in objects}) == 3
    assert all(o["tokens"] <= 20 and o["end"] in ("length", "document") for o in objects)
    plain = run("generate", *asked, capsys=capsys)
    assert plain == "".join(f"--- sample {o['sample']} of 3 ---\nab{o['text']}\n" for o in objects)
    assert generated(*asked[:2], *asked[4:], capsys=capsys) == objects[:1]
    other = generated("--prompt", "ab", "--tokens", "20", "--seed", "6", capsys=capsys)
    assert other[0]["text"] != objects[0]["text"]


def test_a_prompt_comes_from_three_places(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    file = tmp_path / "prompt.txt"
    file.write_bytes("né\n\n".encode())
    few = ("--tokens", "3")
    (given,) = generated("--prompt", "né\n", *few, capsys=capsys)
    assert generated("--prompt-file", str(file), *few, capsys=capsys) == [given]
    for option in ((), ("--prompt-file", "-")):
        typed(monkeypatch, "né\n\n".encode())
        assert generated(*option, *few, capsys=capsys) == [given]
    assert generated(*few, capsys=capsys)[0]["prompt"] == ""


def test_the_text_ends_before_a_stop_mark(repository: Path, capsys: Capture) -> None:
    asked = ("--tokens", "30", "--seed", "5")
    (whole,) = generated(*asked, capsys=capsys)
    mark = whole["text"][4:6]
    (cut,) = generated(*asked, "--stop", "zzzzz", "--stop", mark, capsys=capsys)
    assert cut["text"] == whole["text"].split(mark)[0]
    assert cut["end"] == "mark"
    assert cut["tokens"] < 30


def test_a_model_is_a_regime_a_checkpoint_or_a_folder(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The last needs no repository, and all write the same."""
    few = ("--tokens", "12")
    by_default = generated(*few, capsys=capsys)
    monkeypatch.chdir(repository / "data")
    assert generated("polish", *few, capsys=capsys) == by_default
    monkeypatch.chdir(repository / "data")
    relative = str(CHECKPOINT.relative_to("data"))
    assert generated(relative, *few, capsys=capsys) == by_default
    read = trained.read(repository / CHECKPOINT, repository / paths.TOKENIZER)
    folder.write(tmp_path / "exported", read.model, read.tokenizer, "card")
    monkeypatch.chdir(tmp_path)
    assert generated("exported", *few, capsys=capsys) == by_default


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--temperature", "-1"], "--temperature: -1 is not allowed, must be 0 or more"),
        (["--temperature", "nan"], "--temperature: nan is not a number"),
        (["--temperature", "1e-308"], "--temperature: 1e-308 is not allowed, must be 0 or from"),
        (["--repetition-penalty", "1e308"], "--repetition-penalty: 1e+308 is not allowed, must be"),
        (["--top-k", "1.5"], "--top-k: 1.5 is not a whole number"),
        (["--top-p", "0"], "--top-p: 0 is not allowed, must be from 0 to 1, not 0"),
        (["--min-p", "2"], "--min-p: 2 is not allowed, must be from 0 to 1"),
        (["--repetition-penalty", "0"], "--repetition-penalty: 0 is not allowed, must be above 0"),
        (["--tokens", "0"], "--tokens: 0 is not allowed, must be from 1 to 1000000"),
        (["--seed", "x"], "--seed: 'x' is not a whole number"),
    ],
)
@pytest.mark.parametrize("command", ["generate", "chat"])
@pytest.mark.usefixtures("repository")
def test_a_wrong_number_is_told_in_one_line(
    command: str, arguments: list[str], message: str, capsys: Capture
) -> None:
    assert cli.main([command, *arguments]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"error: {message}")
    assert told.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--samples", "0"], "--samples: 0 is not allowed, must be from 1 to 1000000"),
        (["--stop", ""], "--stop: '' is not allowed, must hold a character"),
        (["--prompt", os.fsdecode(b"a\xff")], "--prompt: invalid UTF-8 at byte 1"),
        (["--prompt-file", "absent"], "absent: cannot be read (No such file or directory)"),
        (["--prompt-file", str(CHECKPOINT)], f"{CHECKPOINT}: invalid UTF-8 at byte "),
        (["--device", "mps"], "--device: 'mps' is not on this machine; it has "),
        (["a\x1b[2J"], "a?[2J: no such model; it is warmup"),
        (["absent"], "absent: no such model; it is warmup, firehose, polish, a .safetensors"),
        (["warmup"], "data/checkpoints/warmup/checkpoint.safetensors: no such checkpoint"),
        (["data"], "data/config.json: "),
        (["params.yaml"], "{here}/params.yaml: not a checkpoint of this project"),
    ],
)
@pytest.mark.usefixtures("repository")
def test_other_mistakes_are_too(arguments: list[str], message: str, capsys: Capture) -> None:
    assert cli.main(["generate", *arguments]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"error: {message.format(here=Path.cwd())}")
    assert told.err.count("\n") == 1


def test_another_tokenizer_is_refused(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Its ids would mean other things to the model."""
    shutil.copytree(repository / "data", tmp_path / "data")
    shutil.copy(repository / "params.yaml", tmp_path)
    file = tmp_path / paths.TOKENIZER
    file.write_text(file.read_text().replace("-2.0", "-3.0"))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["generate"]) == 2
    assert "not the tokenizer that data/checkpoints/polish" in capsys.readouterr().err


def chatted(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, lines: str, *options: str
) -> tuple[list[str], list[str]]:
    """What a conversation printed, on both outputs."""
    typed(monkeypatch, lines.encode())
    assert cli.main(["chat", *options]) == 0
    told = capsys.readouterr()
    return told.out.split("\n< "), told.err.splitlines()


@pytest.mark.usefixtures("repository")
def test_a_conversation(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Again is another reply, and the same lines are the same conversation."""
    options = ("--tokens", "4", "--seed", "3")
    lines = "ab\n\n/again\ncd\n"
    replies, told = chatted(monkeypatch, capsys, lines, *options)
    assert told == []
    assert len(replies) == 3
    assert replies[0].startswith("< ")
    assert replies[0][2:] != replies[1]
    assert chatted(monkeypatch, capsys, lines, *options)[0] == replies
    assert chatted(monkeypatch, capsys, "ab\n", *options)[0][0].rstrip("\n") == replies[0]


@pytest.mark.usefixtures("repository")
def test_what_a_reply_is_made_from(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """The system prompt, then whole turns as chats are written, the oldest left out."""
    from andrea.writing import pieces

    seen: list[str] = []
    real = pieces.write

    def write(model: Any, tokenizer: Tokenizer, prompt: str, *more: Any) -> Any:
        assert 1 + len(tokenizer.encode(prompt)) <= model.context - 4
        seen.append(prompt)
        yield from real(model, tokenizer, prompt, *more)

    monkeypatch.setattr(pieces, "write", write)
    lines = "one\n/again\n//two\n/new\nsix\n" + "x" * 40 + "\nten\n"
    replies, told = chatted(
        monkeypatch, capsys, lines, "--system", "S.", "--tokens", "4", "--temperature", "0"
    )
    assert seen[0] == seen[1] == "> S.\none\n< "
    assert seen[2].startswith("> S.\n")
    assert seen[2].endswith("\n> /two\n< ") or seen[2] == "> S.\n/two\n< "
    assert seen[3] == "> S.\nsix\n< "
    assert seen[4].startswith("> S.\n")
    assert "x" * 40 not in seen[4]
    assert len(replies) == 5
    assert any(line.startswith("too long: with this and the system prompt") for line in told)


@pytest.mark.usefixtures("repository")
def test_old_turns_are_forgotten_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    _, told = chatted(monkeypatch, capsys, "abcdef\nghijkl\nmnopqr\nstuvwx\n", "--tokens", "8")
    assert told
    assert set(told) <= {f"(forgotten: {n} turns; the context is 32 tokens)" for n in (2, 4)}


@pytest.mark.usefixtures("repository")
def test_words_with_a_slash(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    out, told = chatted(monkeypatch, capsys, "/again\n/what\x1b[2J\n/help\n")
    assert told == ["nothing was asked yet", "/what?[2J: unknown; /help tells what may be typed"]
    assert all(word in out[0] for word in ("/again", "/new", "Ctrl-C"))


def from_outside(
    content: bytes, *commands: list[str], **variables: str
) -> tuple[int, bytes, bytes]:
    """Commands one after the other in a process in the current folder with such variables."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    code = f"import sys; from andrea.cli import main; sys.exit(sum(map(main, {commands!a})))"
    ran = subprocess.run(
        [sys.executable, "-c", code], input=content, capture_output=True, env=environment
    )
    return ran.returncode, ran.stdout, ran.stderr


NO_TEXT = "not UTF-8 at byte 1 of the message, which is left out"


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_a_message_that_is_no_text_is_left_out(
    errors: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """However a locale has Python read standard input, and the chat goes on."""
    lines = io.BytesIO(b"hi\na\xff\xfe\nho\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(lines, encoding="utf-8", errors=errors))
    assert cli.main(["chat", "--tokens", "2"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("< ")
    assert told.out.count("\n< ") == 1
    assert told.err.splitlines() == [NO_TEXT]


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    "variables",
    [
        {"LC_ALL": "POSIX"},
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"LC_ALL": "C.UTF-8"}, marks=pytest.mark.slow),
    ],
)
def test_it_is_in_every_locale_too(variables: dict[str, str]) -> None:
    status, out, told = from_outside(b"hi\na\xff\xfe\nho\n", ["chat", "--tokens", "2"], **variables)
    assert status == 0
    assert out.startswith(b"< ")
    assert out.count(b"\n< ") == 1
    assert told.decode() == f"{NO_TEXT}\n"


@pytest.mark.usefixtures("repository")
def test_an_output_without_these_letters() -> None:
    """Gets question marks, and JSON its escapes."""
    few = ["generate", "--prompt", "\u00e9", "--tokens", "2"]
    status, out, told = from_outside(b"", few, [*few, "--json"], PYTHONIOENCODING="ascii")
    assert (status, out[:1], told) == (0, b"?", b"")
    assert json.loads(out.splitlines()[-1])["prompt"] == "\u00e9"


@pytest.mark.usefixtures("repository")
def test_ctrl_c_ends_a_chat_in_a_pipe(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    from andrea.writing import pieces

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(pieces, "write", interrupted)
    typed(monkeypatch, b"one\ntwo\n")
    assert cli.main(["chat"]) == 130


@pytest.mark.usefixtures("repository")
def test_a_prompt_that_is_cut_is_told(capsys: Capture) -> None:
    assert cli.main(["generate", "--prompt", "!" * 50, "--tokens", "1"]) == 0
    assert capsys.readouterr().err == "(the prompt takes 51 tokens of 32: only its end is read)\n"


class Terminal:
    """A process in a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        self.keys, other = pty.openpty()
        self.seen = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "andrea.cli", *arguments],
            stdin=other, stdout=other, stderr=other, start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb"},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(other)

    def type(self, keys: str) -> None:
        self.seen = ""
        os.write(self.keys, keys.encode())

    def wait_for(self, text: str, seconds: float = 60) -> str:
        end = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.keys], [], [], max(0, end - time.monotonic()))
            assert ready, f"{text!r} did not come, but {self.seen[-300:]!r}"
            self.seen += os.read(self.keys, 65536).decode("utf-8", "replace")
        return self.seen

    def interrupt(self, text: str) -> str:
        """Ctrl-C, until a text comes: Python's input() loses one that meets it between two keys."""
        for _ in range(20):
            self.type("\x03")
            with suppress(AssertionError):
                return self.wait_for(text, 3)
        raise AssertionError(f"{text!r} did not come")


@pytest.mark.slow
@pytest.mark.usefixtures("repository")
def test_in_a_real_terminal() -> None:
    """Ctrl-C ends a reply, then drops what is typed; Ctrl-D leaves. No control character shows."""
    terminal = Terminal("chat", "--tokens", "1000000", "--temperature", "3", "--top-k", "0")
    try:
        terminal.wait_for("> ")
        terminal.type("hello\n")
        terminal.wait_for("< ")
        shown = terminal.wait_for("\N{REPLACEMENT CHARACTER}")
        shown += terminal.interrupt("\n> ")
        assert "Traceback" not in shown
        assert not {c for c in shown if ord(c) < 32} - set("\r\n\t\x1b")
        terminal.type("half a mess")
        terminal.wait_for("half a mess")
        terminal.interrupt("\n> ")
        terminal.type("/new\n")
        terminal.wait_for("\n> ")
        terminal.type("/again\n")
        assert "nothing was asked yet" in terminal.wait_for("yet")
        terminal.wait_for("> ")
        terminal.type("\x04")
        assert terminal.process.wait(20) == 0
    finally:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.keys)


def test_a_terminal_gets_no_control_characters() -> None:
    """They could move its cursor or rename its window; what is no terminal gets every byte."""
    text = "a\x1b]0;x\x07\tb\nc\r\x7f\x9bé\u00a0€"
    assert writing.visible(text, terminal=True) == "a�]0;x�\tb\nc���é\u00a0€"
    assert writing.visible(text, terminal=False) == text


def test_the_command_line_starts_without_numpy() -> None:
    """Else `andrea --help` would be slow."""
    code = (
        "import sys; from andrea.commands import chat, generate, register;"
        "print(*{'numpy', 'torch', 'mlflow', 'tokenizers'} & set(sys.modules))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout == "\n"


@pytest.mark.usefixtures("repository")
def test_loading_changes_nothing() -> None:
    before = {file: file.read_bytes() for file in Path.cwd().rglob("*") if file.is_file()}
    model, tokenizer = load("polish")
    assert model.context == 32
    assert tokenizer.vocabulary_size == 297
    assert before == {file: file.read_bytes() for file in Path.cwd().rglob("*") if file.is_file()}
