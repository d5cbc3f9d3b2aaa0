"""What the cache of keys and values is worth, and what text during training costs.

    python -m bench.generate [--threads 2] [--rounds 5]

First 1,024 tokens with andrea-12m's shape, a whole context: every token is timed with the cache,
and every 128th also by reading its whole window again; the mean of the latter stands for all. Both
run in turn, several rounds. Then three prompts of unequal length by 64 tokens at laptop scale, as
the trainer asks for. Printed are medians with the range over the rounds; weights are drawn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from andrea.common import paths
from andrea.config import tree
from andrea.config.training import Compute
from andrea.model.filters import Sampling, choose
from andrea.model.generate import generate
from andrea.model.gpt import GPT, initialise
from andrea.training import machine

TOKENS = 1024
STRIDE = 128
PROMPT_LENGTHS = (1, 9, 17)


def built(name: str) -> GPT:
    """A new network whose head is not zero."""
    model = GPT(tree.load(paths.PARAMS, [f"scale={name}"]).scale)
    initialise(model, 7)
    with torch.no_grad():
        model.head.weight.normal_(0, 0.02, generator=torch.Generator().manual_seed(7))
    return model


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    since = time.perf_counter()
    work()
    return time.perf_counter() - since


def recompute(model: GPT, text: torch.Tensor) -> None:
    """One token by reading all before it."""
    with torch.no_grad():
        logits = model(text)[:, -1].double().numpy()
    seen = np.zeros(logits.shape, dtype=np.bool_)
    choose(logits, Sampling(0.8, 50), seen, np.random.default_rng([7, text.shape[1]]).random(1))


def spread(values: list[float]) -> str:
    """Median and range."""
    low, middle, high = np.percentile(values, [0, 50, 100])
    return f"{middle:.1f} ({low:.1f} to {high:.1f})"


def main() -> None:
    """Measure both and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    machine.prepare(Compute("cpu", "fp32", False, given.threads))

    model = built("andrea-12m")
    start = np.array([[256]])
    text = torch.from_numpy(generate(model, start, TOKENS, 0.8, 50, (7,)))
    cached, whole = [], []
    for _ in range(given.rounds):
        cached.append(seconds(lambda: generate(model, start, TOKENS, 0.8, 50, (7,))))
        lengths = range(STRIDE // 2, TOKENS, STRIDE)
        each = [seconds(lambda n=n: recompute(model, text[:, :n])) for n in lengths]  # type: ignore[misc]
        whole.append(float(np.mean(each)) * TOKENS)
    ratios = [slow / fast for slow, fast in zip(whole, cached, strict=True)]
    print(f"andrea-12m, {TOKENS} tokens: cached {spread(cached)} s, recomputed {spread(whole)} s")
    print(f"recomputed / cached: {spread(ratios)}")

    model = built("laptop")
    rng = np.random.default_rng(0)
    prompts = [rng.integers(0, len(model.token), length) for length in PROMPT_LENGTHS]
    once = [
        1e3 * seconds(lambda: generate(model, prompts, 64, 0.8, 50, (7,)))
        for _ in range(5 * given.rounds)
    ]
    print(f"laptop, {len(prompts)} prompts by 64 tokens: {spread(once)} ms")


if __name__ == "__main__":
    main()
