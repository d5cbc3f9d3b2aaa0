"""Stages that die or fail at a chosen place: a process of its own forks one process per stage.

Run as a script it imports what the stages need once, and then forks for every request on standard
input. Every call that makes, changes or removes a file is an event, and so is every step; a fault
strikes at the event of that number. Only MLflow is left out.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from andrea.config.tree import Config

ROOT = Path(__file__).parents[1]
STEP = "step"


@dataclass(frozen=True)
class Fault:
    """What strikes where.

    Attributes:
        kind: `kill`; `error`, no room on the disk; the name of a signal; or one of `ACTS`.
        event: number of the event, from 0, or of the step where `kind` is not of a file.
        until: the events from `event` up to this one; None for `event` alone.
    """

    kind: str
    event: int
    until: int | None = None


@dataclass(frozen=True)
class End:
    """How a stage process ended.

    Attributes:
        status: as `subprocess` gives it: negative is the number of a signal.
        out: standard output.
        err: standard error.
        events: that came to pass, where the process could still tell.
    """

    status: int
    out: str
    err: str
    events: list[str]


class Stages:
    """The process that forks; use as a context manager."""

    def __enter__(self) -> Stages:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
        assert self._process.returncode == 0

    def start(self, folder: Path, stage: str, *faults: Fault, **more: Any) -> int:
        """Begin a stage in `folder`; its process id.

        Args:
            folder: of the repository.
            stage: its word, and its arguments.
            faults: that strike.
            more: `largest_file` in bytes; `broken`, steps from the first up to the second, whose
                loss is not finite.
        """
        told = {"folder": str(folder), "stage": stage, "faults": [asdict(f) for f in faults]}
        return self._ask({**told, **more})

    def end(self, folder: Path, process: int) -> End:
        """Wait for a stage that was begun."""
        status = self._ask({"end": process})
        out, err, events = (folder / f"{process}.{name}" for name in ("out", "err", "events"))
        seen = json.loads(events.read_text()) if events.exists() else []
        return End(status, out.read_text(), err.read_text(), seen)

    def __call__(self, folder: Path, stage: str, *faults: Fault, **more: Any) -> End:
        """Run a stage in `folder`, as `start`."""
        return self.end(folder, self.start(folder, stage, *faults, **more))

    def _ask(self, told: Mapping[str, Any]) -> int:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def results(folder: Path) -> dict[str, bytes]:
    """Every file that the regimes made for those who come after."""
    parts = [folder / "data/checkpoints"] + [
        folder / "data/reports" / name for name in ("warmup", "firehose", "polish")
    ]
    files = (file for part in parts for file in sorted(part.rglob("[!.]*")) if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def remove_outs(folder: Path, stage: str) -> None:
    """What DVC does before it runs a stage that has no record."""
    for part in ("checkpoints", "reports"):
        shutil.rmtree(folder / "data" / part / stage, ignore_errors=True)


class Events:
    """Counts what happens in this process, and strikes."""

    def __init__(self, faults: list[Fault]) -> None:
        self.seen: list[str] = []
        self._steps = 0
        self._of_files = [fault for fault in faults if fault.kind in ("kill", "error")]
        self._of_steps = [fault for fault in faults if fault not in self._of_files]

    def happen(self, name: str, *, may_fail: bool = True) -> None:
        number = len(self.seen)
        self.seen.append(name)
        for fault in self._of_files:
            last = fault.event if fault.until is None else fault.until
            if fault.event <= number <= last:
                if fault.kind == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                elif may_fail:
                    raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} (at {name})")

    def step(self, number: int) -> None:
        self.happen(f"{STEP} {number}", may_fail=False)
        for fault in self._of_steps:
            if fault.event == number:
                ACTS.get(fault.kind, send)(fault.kind)


def send(name: str) -> None:
    """A signal to this process; its handler has run when this returns."""
    os.kill(os.getpid(), getattr(signal, name))


def wait(_: str) -> None:
    """As in a step that takes long, until SIGUSR2."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    Path("waits").touch()
    signal.sigtimedwait([signal.SIGUSR2], 60)


def no_memory(kind: str) -> None:
    import torch

    raise {
        "cuda memory": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        "cpu memory": RuntimeError(
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate"
            " memory: you tried to allocate 80000000000 bytes. Error code 12"
        ),
        "python memory": MemoryError(),
        "other error": RuntimeError("shapes do not fit"),
    }[kind]


def delete_shard(_: str) -> None:
    Path("data/shards/plain/train.bin").unlink()


def truncate_shard(_: str) -> None:
    for source in ("plain", "packed", "split"):
        os.truncate(f"data/shards/{source}/train.bin", 0)


ACTS: dict[str, Callable[[str], None]] = {
    "wait": wait,
    "delete shard": delete_shard,
    "truncate shard": truncate_shard,
    **dict.fromkeys(("cuda memory", "cpu memory", "python memory", "other error"), no_memory),
}


def instrument(events: Events, broken: tuple[int, int] | None) -> None:
    """Make every call that touches a file, and every step, an event.

    Args:
        events: to tell.
        broken: steps from the first up to the second have a loss that is not finite.
    """
    import torch

    from andrea.training import checkpoint, loop

    save_file, run_regime = checkpoint.save_file, loop.run_regime
    open_file, rmtree = Path.open, shutil.rmtree

    def saved(tensors: Any, path: Path, metadata: Any) -> None:
        events.happen("save_file")
        save_file(tensors, path, metadata)
        size = path.stat().st_size
        half = path.with_name(".tmpHALF")  # safetensors writes to such a file first
        shutil.copyfile(path, half)
        for left in (path, half):
            os.truncate(left, size // 2)
        events.happen("half of save_file")
        os.remove(half)  # noqa: PTH107
        save_file(tensors, path, metadata)

    def wrote(path: Path, text: str, encoding: str) -> None:
        events.happen(f"write_text {_name(path)}")
        with open_file(path, "w", encoding=encoding) as file:
            file.write(text[: len(text) // 2])
        events.happen(f"half of write_text {_name(path)}")
        with open_file(path, "w", encoding=encoding) as file:
            file.write(text)

    def opened(path: Path, mode: str = "r", *args: Any, **more: Any) -> Any:
        if set(mode) & set("wax"):
            events.happen(f"open {_name(path)}")
        return open_file(path, mode, *args, **more)

    def removed(path: Path, ignore_errors: bool = False, **more: Any) -> None:
        events.happen("rmtree", may_fail=not ignore_errors)
        for first in sorted(Path(path).glob("*"))[:1]:
            os.remove(first)  # noqa: PTH107
            events.happen("half of rmtree", may_fail=not ignore_errors)
        rmtree(path, ignore_errors=ignore_errors, **more)

    def stepped(*args: Any) -> Iterator[Any]:
        state = args[0]
        honest = state.model.mean_nats

        def mean_nats(*tokens: Any) -> Any:
            mean, losses = honest(*tokens)
            if broken and torch.is_grad_enabled() and broken[0] <= state.step < broken[1]:
                return mean * torch.nan, losses
            return mean, losses

        state.model.mean_nats = mean_nats
        for stats in run_regime(*args):
            events.step(stats.step)
            yield stats

    for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "rename"), (Path, "unlink"),
                        (Path, "mkdir")):  # fmt: skip
        setattr(owner, name, _told(events, name, getattr(owner, name)))
    Path.write_text = wrote  # type: ignore[method-assign, assignment]
    Path.open = opened  # type: ignore[method-assign, assignment]
    shutil.rmtree = removed  # type: ignore[assignment]
    checkpoint.save_file = saved  # type: ignore[assignment]
    loop.run_regime = stepped  # type: ignore[assignment]


def _name(path: Path) -> str:
    """Without the number of the process that a part carries."""
    return re.sub(r"\.\d+\.part$", ".part", path.name)


def _told(events: Events, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def told(*args: Any, **more: Any) -> Any:
        events.happen(name)
        return call(*args, **more)

    return told


def _regime(name: str) -> Callable[[Config], None]:
    """As the stage of that name, but without MLflow."""
    from andrea.planning import estimate
    from andrea.training.regime import train
    from andrea.training.tracker import NullTracker

    def stage(config: Config) -> None:
        estimate.check(config)
        train(config, name, contextlib.nullcontext(NullTracker()))

    return stage


def _child(told: Mapping[str, Any]) -> int:
    """The stage, in a process of its own; the exit status."""
    import resource
    import runpy

    from andrea.config.training import REGIMES
    from andrea.shell.stage import run

    os.chdir(told["folder"])
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{os.getpid()}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    if told.get("largest_file"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (told["largest_file"], resource.RLIM_INFINITY))
    events = Events([Fault(**fault) for fault in told["faults"]])
    write = Path.write_text
    instrument(events, told.get("broken"))
    stage, *arguments = told["stage"].split()
    sys.argv = [stage, *arguments]
    status = 0
    try:
        if stage in REGIMES:
            run(_regime(stage))
        else:
            runpy.run_module(f"stages.{stage}", run_name="__main__", alter_sys=True)
        events.happen("end")
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        status = 1
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    write(Path(f"{os.getpid()}.events"), json.dumps(events.seen))
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def _serve() -> None:
    sys.path.remove(str(Path(__file__).parent))
    from andrea.scratch import inputs

    # The second is what torch imports when it is asked for deterministic algorithms.
    for module in ("andrea.training.regime", "stages.track", "torch._inductor"):
        importlib.import_module(module)
    # The code that a regime imports is the same for all of them: it is read here.
    inputs.closure = functools.cache(inputs.closure)  # type: ignore[assignment]
    inputs.closure(ROOT / "andrea/training/regime.py")
    for line in sys.stdin:
        told = json.loads(line)
        if "end" in told:
            _, ended = os.waitpid(told["end"], 0)
            print(os.waitstatus_to_exitcode(ended), flush=True)
            continue
        child = os.fork()
        if child == 0:
            status = 70
            try:
                status = _child(told)
            finally:
                os._exit(status)
        print(child, flush=True)


if __name__ == "__main__":
    _serve()
