"""A conversation as the model reads it, cut to what fits."""

from __future__ import annotations

from collections.abc import Sequence

from andrea.common.errors import UserError
from andrea.corpus.turns import MARKS, Turn, render
from andrea.tokens.tokenizer import Tokenizer

STOPS = tuple(f"\n{mark}" for mark in MARKS.values())  # where the reply is over


def ask(system: str, turns: Sequence[Turn]) -> str:
    """The document up to where the reply begins.

    Args:
        system: stands at the head of the first prompt, on lines of its own; '' for none.
        turns: from a prompt to a prompt. An empty one is left out, and the prompts around it are
            one, as in the texts that the model has read.
    """
    said: list[Turn] = []
    for turn in [Turn("prompt", system), *turns]:
        if turn.text and said and said[-1].role == turn.role:
            said[-1] = Turn(turn.role, f"{said[-1].text}\n{turn.text}")
        elif turn.text:
            said.append(turn)
    return render([*said, Turn("reply", "")])


def cut(
    system: str, turns: Sequence[Turn], tokenizer: Tokenizer, most_tokens: int
) -> Sequence[Turn]:
    """Leave out the oldest prompts, each with its reply, until the rest fits.

    Args:
        system: kept, as `ask` takes it.
        turns: prompt, reply, prompt, and so on to a prompt.
        most_tokens: that `ask` may give, with the BOS before them.

    Raises:
        UserError: not even the last prompt fits.
    """
    for start in range(0, len(turns), 2):
        needed = 1 + len(tokenizer.encode(ask(system, turns[start:])))
        if needed <= most_tokens:
            return turns[start:]
    also = " and the system prompt" if system else ""
    raise UserError(f"too long: with this{also} {needed} tokens, at most {most_tokens} fit")
