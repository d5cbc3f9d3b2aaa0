"""A conversation with a model.

A line is a message; /help tells what else may be typed. Messages and replies are given to the model
as its chats are written, the oldest left out where they no longer fit its context.

Example: andrea chat --temperature 0.6 --seed 1
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from andrea.commands import writing
from andrea.commands.shared import Commands, new_command
from andrea.common.errors import UserError, line
from andrea.common.seeds import Purpose
from andrea.corpus.turns import MARKS, Turn
from andrea.writing.request import Request

if TYPE_CHECKING:
    from andrea.model.gpt import GPT
    from andrea.tokens.tokenizer import Tokenizer

HELP = """\
/again  another reply to the last message
/new    forgets the conversation, but not the system prompt
/help   this text
A message that begins with / is written with two. Ctrl-C ends a reply, Ctrl-D the conversation."""


@dataclass
class Conversation:
    """What was said, and what replies come from.

    Attributes:
        turns: prompt, reply, prompt, and so on; oldest ones are forgotten where they do not fit.
        asked: messages since the start; it and `tries` of the same message key the random stream.
    """

    model: GPT
    tokenizer: Tokenizer
    request: Request
    system: str
    turns: list[Turn] = field(default_factory=list)
    asked: int = 0
    tries: int = 0


def add(commands: Commands) -> None:
    """Make the command known."""
    command = new_command(commands, chat, __doc__)
    writing.add_model(command)
    command.add_argument(
        "--system", metavar="TEXT", default="",
        help="stands before the first message, and always stays",
    )  # fmt: skip
    writing.add_numbers(command)


def chat(given: argparse.Namespace) -> int:
    """Read messages and print replies until the input ends."""
    writing.prepare_output()
    asked = writing.request(given)
    system = writing.utf8(given.system, "--system").strip()
    model, tokenizer = writing.load(given)
    talk = Conversation(model, tokenizer, asked, system)
    if sys.stdin is None or not sys.stdin.isatty():
        for said in sys.stdin.buffer if sys.stdin else ():
            _listen(talk, said)
        return 0
    print("/help tells what may be typed")
    for said in _typed():
        with suppress(KeyboardInterrupt):
            _listen(talk, said)
    return 0


def _typed() -> Iterator[bytes]:
    """Lines of a terminal; Ctrl-C only drops what is typed."""
    with suppress(ImportError):
        import readline  # noqa: F401  (input() takes it up: arrows and history)
    while True:
        try:
            yield os.fsencode(input(MARKS["prompt"]))
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
        except UnicodeError as error:
            _tell(f"not UTF-8, left out ({line(error)})")


def _listen(talk: Conversation, typed: bytes) -> None:
    """Do what a line asks for, unless it is no text."""
    try:
        said = typed.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        _tell(f"not UTF-8 at byte {error.start} of the message, which is left out")
        return
    if said == "/new":
        talk.turns = []
    elif said == "/again" and talk.turns:
        talk.tries += 1
        _reply(talk, talk.turns[:-1])
    elif said == "/again":
        _tell("nothing was asked yet")
    elif said == "/help":
        print(HELP)
    elif said.startswith("/") and not said.startswith("//"):
        _tell(f"{line(said)}: unknown; /help tells what may be typed")
    elif said:
        talk.asked, talk.tries = talk.asked + 1, 0
        _reply(talk, [*talk.turns, Turn("prompt", said.removeprefix("/"))])


def _reply(talk: Conversation, turns: list[Turn]) -> None:
    """Print a reply to the last of `turns` while it is written, and remember both."""
    from andrea.writing import conversation
    from andrea.writing.pieces import write

    context = talk.model.context
    room = context - min(talk.request.tokens, context // 2)
    try:
        kept = list(conversation.cut(talk.system, turns, talk.tokenizer, room))
    except UserError as error:
        _tell(str(error))
        return
    if len(kept) < len(turns):
        _tell(f"(forgotten: {len(turns) - len(kept)} turns; the context is {context} tokens)")
    key = (talk.request.seed, Purpose.WRITING, talk.asked, talk.tries)
    pieces = write(
        talk.model, talk.tokenizer, conversation.ask(talk.system, kept),
        talk.request.sampling, talk.request.tokens, key, conversation.STOPS,
    )  # fmt: skip
    said: list[str] = []
    terminal = sys.stdout.isatty()
    print(MARKS["reply"], end="", flush=True)
    try:
        for piece in pieces:
            said.append(piece.text)
            print(writing.visible(piece.text, terminal), end="", flush=True)
    finally:
        print(flush=True)
        talk.turns = [*kept, Turn("reply", "".join(said).strip())]


def _tell(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
