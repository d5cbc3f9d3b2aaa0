"""What the network runs on: resolved once, recorded with every result."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import sys
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass

import numpy as np
import torch

from andrea.common.errors import UserError
from andrea.config.training import Compute


@dataclass(frozen=True)
class Machine:
    """The device and arithmetic of a run; `auto` has been decided."""

    device: str
    dtype: str
    compile: bool
    threads: int

    def autocast(self) -> AbstractContextManager[None]:
        """Products in bf16 where that was chosen; weights and sums stay fp32."""
        return torch.autocast(self.device, torch.bfloat16, enabled=self.dtype == "bf16")

    def record(self) -> dict[str, str | int | bool]:
        """All that must be equal for two runs to give the same bytes."""
        cpu = str(torch.cpu.get_capabilities().get("cpu_name") or platform.machine())
        return {
            **asdict(self),
            "processor": torch.cuda.get_device_name() if self.device == "cuda" else cpu,
            "torch": str(torch.__version__),
            "numpy": np.__version__,
            "python": platform.python_version(),
        }


def prepare(cfg: Compute) -> Machine:
    """Decide device, dtype and threads, and set torch up for repeatable, fast steps.

    Raises:
        UserError: something was asked for by name that this machine does not have.
    """
    device = _device(cfg.device)
    machine = Machine(device, _dtype(cfg.dtype, device), _compile(cfg, device), _threads(cfg))
    torch.set_num_threads(machine.threads)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.set_float32_matmul_precision("highest" if machine.dtype == "fp32" else "high")
    keep_freed_memory()
    return machine


def keep_freed_memory() -> None:
    """Have glibc reuse freed blocks instead of handing them back to the system.

    A step frees and asks for the same large blocks again, and fresh pages cost time
    (`bench/step.py`). Elsewhere than on glibc nothing changes.
    """
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        return
    trim_threshold, top_pad, mmap_max, arena_max = -1, -2, -4, -8
    libc = ctypes.CDLL(None)
    for option, value in (
        (arena_max, 1),
        (mmap_max, 0),
        (trim_threshold, 2**31 - 1),
        (top_pad, 2**26),
    ):
        libc.mallopt(option, value)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out; on the CPU torch has no type of its own for it."""
    known = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return known or "not enough memory" in str(error) or "can't allocate memory" in str(error)


def _device(asked: str) -> str:
    has = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if asked == "auto":
        return next(name for name, there in has.items() if there)
    if not has[asked]:
        there = ", ".join(name for name in has if has[name])
        raise UserError(f"compute.device: {asked!r} is not on this machine; it has {there}")
    return asked


def _dtype(asked: str, device: str) -> str:
    has = device == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    if device == "cpu":
        features = torch.cpu.get_capabilities()
        has = bool(features.get("avx512_bf16") or features.get("amx_bf16"))
    if asked == "auto":
        return "bf16" if has else "fp32"
    if asked == "bf16" and not has:
        raise UserError(f"compute.dtype: 'bf16' has no hardware on this {device}; use fp32 or auto")
    return asked


def _compile(cfg: Compute, device: str) -> bool:
    compilers = ("g++", "clang++") if device == "cpu" else ("cc", "gcc", "clang")
    if cfg.compile and not any(map(shutil.which, compilers)):
        raise UserError("compute.compile: true needs a C compiler, none was found; use false")
    return cfg.compile


def _threads(cfg: Compute) -> int:
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    if cfg.threads == "auto":
        return cores
    if cfg.threads > cores:
        raise UserError(f"compute.threads: {cfg.threads} asked for, this machine has {cores} cores")
    return cfg.threads
