"""What the heads of the last checkpoint look at."""

from __future__ import annotations

import numpy as np
import torch

from andrea.common.errors import UserError
from andrea.common.seeds import Purpose
from andrea.geometry.heads.measure import attention, subspaces
from andrea.geometry.heads.measure.heads import repeated_tokens, statistics
from andrea.geometry.heads.measure.result import Heads, Prompt
from andrea.geometry.measure.run import LAST, FinishedRun
from andrea.geometry.measure.text import held_out_of_all, readable
from andrea.tokens.tokenizer import BOS


def measure(run: FinishedRun) -> Heads:
    """Look at the heads.

    Raises:
        UserError: there is too little text for it.
    """
    run.place(LAST)
    cfg, seed = run.cfg, run.facts.seed
    text = held_out_of_all(run, cfg.head_rows, cfg.head_tokens)[0].numpy()
    length = min(cfg.repeat_tokens, (run.scale.context - 1) // cfg.repeats)
    if length == 0:
        raise UserError(
            f"geometry.repeats: {cfg.repeats} is not allowed, at most {run.scale.context - 1} fit"
            f" into a context of {run.scale.context} tokens"
        )
    try:
        repeated = repeated_tokens(
            text, BOS, cfg.repeat_rows, length, cfg.repeats, (seed, Purpose.REPEATED_TOKENS)
        )
        return Heads(
            tuple(_prompt(run, text) for text in cfg.prompts),
            statistics(run.model, text),
            statistics(run.model, repeated),
            subspaces.compare(run.model, (seed, Purpose.HEAD_SUBSPACES)),
        )
    except ValueError as error:
        raise UserError(f"geometry.head_rows, head_tokens: {error}") from error


def _prompt(run: FinishedRun, text: str) -> Prompt:
    most = min(run.cfg.prompt_tokens, run.scale.context)
    tokens = np.concatenate([[BOS], run.tokenizer.encode(text)])[:most].astype(np.int64)
    captured = attention.capture(run.model, tokens)
    place = len(tokens) - 1
    with torch.no_grad():
        fast = run.model(torch.from_numpy(tokens)[None].to(run.model.token.device))[0]
    return Prompt(
        text,
        readable(run, tokens.tolist()),
        captured.weights.astype(np.float64),
        place,
        attention.at_position(captured, place),
        float(np.abs(captured.logits - fast.cpu().numpy()).max()),
    )
