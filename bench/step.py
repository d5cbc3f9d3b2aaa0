"""Where a training step's time goes, and what the choices for it are worth.

    python -m bench.step [--scale laptop] [--threads 2] [--rounds 5]

Each variant runs in a process of its own, in turn, several rounds; printed is the ratio of its
median step to that of the shipped code, with the range over the rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

import numpy as np
import torch
from torch.nn import functional

from andrea.common import paths
from andrea.config import tree
from andrea.config.training import Compute
from andrea.model.gpt import GPT
from andrea.training import machine, optimizer, state

VARIANTS = {
    "shipped": "the code as it is",
    "long spin": "without a limit on OpenMP's spinning",
    "fresh pages": "without `keep_freed_memory`",
    "whole logits": "plain cross-entropy over all logits at once",
    "plain attention": "attention written out, scores in memory",
    "compiled": "with torch.compile",
}


def whole_logits(model: GPT, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean loss with the logits of the whole batch in memory."""
    return functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


def plain_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool
) -> torch.Tensor:
    """Attention with its scores in memory."""
    later = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool).triu(1)
    scores = (q @ k.mT) * q.shape[-1] ** -0.5
    return scores.masked_fill(later, -torch.inf).softmax(-1) @ v


def measure(variant: str, name: str, threads: int) -> float:
    """Median seconds of a step."""
    config = tree.load(paths.PARAMS, [f"scale={name}"])
    scale = config.scale
    if variant == "fresh pages":
        machine.keep_freed_memory = lambda: None
    if variant == "plain attention":
        functional.scaled_dot_product_attention = plain_attention  # type: ignore[assignment]
    on = machine.prepare(Compute("cpu", "fp32", variant == "compiled", threads))
    training = state.new(scale, config.optimizer, 16, 1, on.device)
    model = training.model
    if on.compile:
        model.features = torch.compile(model.features)  # type: ignore[method-assign]
    rng = np.random.default_rng(0)
    seconds = []
    for _ in range(25):
        shape = (scale.micro_batch, scale.context + 1)
        tokens = torch.from_numpy(rng.integers(0, scale.vocabulary, shape))
        since = time.perf_counter()
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        loss = (
            whole_logits(model, inputs, targets)
            if variant == "whole logits"
            else model.mean_nats(inputs, targets)[0]
        )
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.clip(model, config.optimizer.grad_clip)
        optimizer.step(training.optimizer, 1e-3)
        seconds.append(time.perf_counter() - since)
    return statistics.median(seconds[5:])


def main() -> None:
    """Run every variant in turn and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", default="laptop")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--variant", choices=VARIANTS, help="measure one, print seconds")
    given = parser.parse_args()
    if given.variant:
        print(measure(given.variant, given.scale, given.threads))
        return
    found: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    for _ in range(given.rounds):
        for variant, seconds in found.items():
            command = [sys.executable, "-m", "bench.step", "--variant", variant]
            command += ["--scale", given.scale, "--threads", str(given.threads)]
            spin = {"GOMP_SPINCOUNT": "infinite"} if variant == "long spin" else {}
            printed = subprocess.run(
                command, check=True, capture_output=True, text=True, env={**os.environ, **spin}
            ).stdout
            seconds.append(float(printed.split()[-1]))
    scale = tree.load(paths.PARAMS, [f"scale={given.scale}"]).scale
    shipped = found["shipped"]
    pace = scale.micro_batch * scale.context / statistics.median(shipped)
    print(f"{given.scale}: {pace:,.0f} tokens/s on {given.threads} threads")
    for variant, seconds in found.items():
        ratios = sorted(one / base for one, base in zip(seconds, shipped, strict=True))
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        print(f"{variant:16} {statistics.median(ratios):5.2f}  ({spread})  {VARIANTS[variant]}")


if __name__ == "__main__":
    main()
