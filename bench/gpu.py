"""Fifty steps of andrea-12m and andrea-120m in bf16, compiled, on a CUDA device.

    python -m bench.gpu [--steps 50] [--device cuda]

Prints tokens per second (steps after the first ten), peak memory, and whether two runs end with the
same bits. Tokens are drawn at random: the figures do not depend on the text.
"""

from __future__ import annotations

import argparse
import hashlib
import time

import numpy as np
import torch

from andrea.common import paths
from andrea.config import tree
from andrea.config.training import Compute, Optimizer, Scale
from andrea.training import machine, optimizer, state
from andrea.training.machine import Machine

WARM_STEPS = 10


def run(scale: Scale, cfg: Optimizer, on: Machine, steps: int) -> tuple[float, str]:
    """Tokens per second and a digest of the final weights."""
    training = state.new(scale, cfg, 16, 1, on.device)
    if on.compile:
        training.model.features = torch.compile(training.model.features)  # type: ignore[method-assign]
    rng = np.random.default_rng(0)
    for step in range(steps):
        if step == min(WARM_STEPS, steps - 1):
            _wait(on)
            since = time.perf_counter()
            counted = steps - step
        rows = rng.integers(0, scale.vocabulary, (scale.micro_batch, scale.context + 1))
        tokens = torch.from_numpy(rows).to(on.device)
        with on.autocast():
            loss, _ = training.model.mean_nats(tokens[:, :-1], tokens[:, 1:])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.clip(training.model, cfg.grad_clip)
        lr = optimizer.lr(step, 200_000, scale.lr, cfg)
        optimizer.step(training.optimizer, lr)
    _wait(on)
    pace = counted * scale.micro_batch * scale.context / (time.perf_counter() - since)
    digest = hashlib.sha256()
    for weights in training.model.parameters():
        digest.update(weights.detach().cpu().numpy().tobytes())
    return pace, digest.hexdigest()


def main() -> None:
    """Measure both sizes, each twice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu", "mps"])
    parser.add_argument("--scales", nargs="+", default=["andrea-12m", "andrea-120m"])
    parser.add_argument("--eager", action="store_true", help="do not compile")
    given = parser.parse_args()
    dtype = "bf16" if given.device == "cuda" else "fp32"
    on = machine.prepare(Compute(given.device, dtype, not given.eager, "auto"))
    print(on.record())
    for name in given.scales:
        config = tree.load(paths.PARAMS, [f"scale={name}"])
        if on.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        runs = [run(config.scale, config.optimizer, on, given.steps) for _ in range(2)]
        paces = ", ".join(f"{pace:,.0f}" for pace, _ in runs)
        same = "equal" if runs[0][1] == runs[1][1] else "different"
        peak = torch.cuda.max_memory_allocated() / 2**30 if on.device == "cuda" else float("nan")
        print(f"{name}: {paces} tokens/s, peak {peak:.2f} GiB, two runs end with {same} bits")


def _wait(on: Machine) -> None:
    if on.device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
