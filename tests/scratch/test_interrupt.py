from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from andrea.scratch import interrupt
from andrea.scratch.interrupt import ORPHANED, Interrupt

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 30

# Trains until it is asked to stop, and puts down who asked.
TRAINER = f"""
import os, sys, time
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from andrea.scratch.interrupt import Interrupt
with Interrupt() as asked:
    Path("started").write_text(str(os.getpid()))
    for _ in range({PATIENCE_SECONDS * 100}):
        if asked.stop() or Path("enough").exists():
            break
        time.sleep(0.01)
    Path("part").write_text(str(int(asked.stop() or 0)))
    Path("part").replace("stopped")
"""
# As DVC does: a shell with one command, or the one given.
STARTER = """
import subprocess, sys
subprocess.run(sys.argv[1:])
"""


@pytest.fixture(autouse=True)
def trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_STAGE", raising=False)
    Path("trainer.py").write_text(TRAINER)
    Path("starter.py").write_text(STARTER)


def wait_for(name: str) -> int:
    limit = time.monotonic() + PATIENCE_SECONDS
    while not (Path(name).exists() and Path(name).read_text()):
        assert time.monotonic() < limit, f"no {name}"
        time.sleep(0.01)
    return int(Path(name).read_text())


COMMAND = f"{sys.executable} trainer.py"
CHAINS = {
    "direct": [*COMMAND.split()],
    "sh": ["/bin/sh", "-c", COMMAND],
    "sh stays": ["/bin/sh", "-c", f"{COMMAND}; true"],
    "sh in sh stays": ["/bin/sh", "-c", f"/bin/sh -c '{COMMAND}; true'; true"],
}
if bash := shutil.which("bash"):
    CHAINS["bash"] = [bash, "--noprofile", "--norc", "-c", COMMAND]
    CHAINS["bash stays"] = [bash, "--noprofile", "--norc", "-c", f"{COMMAND}; true"]


@pytest.mark.parametrize("chain", CHAINS)
def test_the_end_of_the_starter_stops_the_run(chain: str) -> None:
    starter = subprocess.Popen([sys.executable, "starter.py", *CHAINS[chain]])
    wait_for("started")
    starter.kill()
    starter.wait()
    assert wait_for("stopped") == ORPHANED


def test_the_end_of_whoever_started_the_starter_does_not() -> None:
    """`nohup dvc repro &` outlives the terminal that it was typed in."""
    between = [sys.executable, "starter.py", *COMMAND.split()]
    outer = subprocess.Popen([sys.executable, "starter.py", *between])
    wait_for("started")
    outer.kill()
    outer.wait()
    time.sleep(0.3)
    assert not Path("stopped").exists()
    Path("enough").touch()
    assert wait_for("stopped") == 0


@pytest.mark.parametrize(
    ("words", "orphaned"),
    [(["/sbin/init"], True), ([], True), (["python", "/usr/bin/dvc", "repro"], False)],
)
def test_a_child_of_process_1_is_an_orphan_unless_that_is_dvc(
    monkeypatch: pytest.MonkeyPatch, words: list[str], orphaned: bool
) -> None:
    monkeypatch.setattr(interrupt, "process", lambda _: (0, words))
    assert interrupt.born_orphaned([1]) == orphaned
    assert interrupt.born_orphaned([17, 1]) == orphaned
    assert not interrupt.born_orphaned([17])
    monkeypatch.setattr(interrupt, "starters", lambda: [1])
    monkeypatch.setattr(interrupt, "there", lambda _: True)
    assert Interrupt().stop() is None
    monkeypatch.setenv("DVC_STAGE", "warmup")
    assert Interrupt().stop() == (ORPHANED if orphaned else None)


@pytest.mark.parametrize("way", ["proc", "ps"])
def test_parent_and_command_line_of_a_process(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "ps":
        if shutil.which("ps") is None:
            tool = Path("ps")
            tool.write_text(f"#!/bin/sh\necho ' {os.getpid()} sleep' 30\n")
            tool.chmod(0o755)
            monkeypatch.setenv("PATH", str(Path.cwd()), prepend=os.pathsep)
        monkeypatch.setattr(interrupt.Path, "is_dir", lambda _: False)
    child = subprocess.Popen(["sleep", "30"])
    try:
        limit = time.monotonic() + PATIENCE_SECONDS
        while (found := interrupt.process(child.pid))[1] != ["sleep", "30"]:  # not yet begun
            assert time.monotonic() < limit, found
        assert found[0] == os.getpid()
    finally:
        child.kill()
        child.wait()


def test_what_the_system_does_not_tell_is_no_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupt.Path, "is_dir", lambda _: False)
    monkeypatch.setenv("PATH", str(Path.cwd()))
    assert interrupt.process(os.getpid()) == (0, [])
    assert interrupt.starters() == [os.getppid()]
    assert Interrupt().stop() is None


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_wait_for_the_step(number: int) -> None:
    handlers = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)]
    with Interrupt() as asked:
        assert (asked.stop(), asked.save()) == (None, False)
        send(signal.SIGUSR1)
        assert asked.save()
        assert not asked.save()
        assert asked.stop() is None
        send(number)
        assert asked.stop() == number
        assert asked.stop() == number
    after = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)]
    assert handlers == after


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [
        ("SIGINT", "SIGINT", -signal.SIGINT),
        ("SIGTERM", "SIGINT", 0),
        ("SIGTERM", "SIGTERM", 0),
    ],
)
def test_the_second_interrupt_kills(first: str, second: str, status: int) -> None:
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(ROOT)!r})
from andrea.scratch.interrupt import Interrupt
with Interrupt() as asked:
    for name in ({first!r}, {second!r}):
        os.kill(os.getpid(), getattr(signal, name))
    sys.exit(0 if asked.stop() else 1)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == status


def test_errors_pass_through() -> None:
    ask: Callable[[], Interrupt] = Interrupt
    with pytest.raises(ValueError, match="mine"), ask():
        raise ValueError("mine")
