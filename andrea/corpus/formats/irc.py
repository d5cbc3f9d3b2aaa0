"""Logs of IRC clients: what was said, one `<nick> text` a line.

A line is a time stamp and a message, an action or an event. irssi, WeeChat, mIRC, HexChat (XChat),
ZNC, EnergyMech, eggdrop, Textual, LimeChat and supybot (Limnoria) differ so little in how they
write these that one grammar reads all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from andrea.common.errors import UserError
from andrea.corpus.formats import plain

ENDINGS = (".log", ".txt", ".weechatlog", ".irclog")
SILENCE_MINUTES = 60
FIRST_LINES = 50

_STAMP = re.compile(
    r"(?P<bracket>\[)?(?P<date>\d{4}-\d\d-\d\d|[A-Z][a-z]{2} +\d{1,2})?[T ]*"
    r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::\d\d(?:[.,]\d+)?)?"
    r"(?P<half> ?[AaPp][Mm])?(?:Z|[+-]\d\d:?\d\d)?\]?(?:\s+|$)"
)
_MARKER = re.compile(r"--- |\*{4} |Session ")
_MESSAGE = re.compile(r"<[ @+%&~!]?(?P<nick>[^\s<>]+)>\s?(?P<text>.*)")
_ACTION = re.compile(r"\s*(?:\*|Action:|•)\s+(?P<nick>[^\s:]+):?\s+(?P<text>.*)")
_COLUMNS = re.compile(r"[@+%&~!]?(?P<nick>[^\s<>*=@+%&~!-]\S*)\t(?P<text>.*)")
_COLON = re.compile(r"[@+%&~!]?(?P<nick>[^\s<>*#:(-][^\s:]*): (?P<text>.*)")
_EVENT = re.compile(
    r"\s*\*\s+(?:(?:Joins|Parts|Quits): |(?:Now talking|Topic|Set by|Disconnected|Rejoined"
    r"|Attempting|Connect(?:ed|ing)|Looking up|You (?:are now|were kicked|have (?:joined|left)))\b"
    r"|\S+ [\[(]\S+@\S+[\])] "
    r"|\S+ (?:has (?:joined|left) [#&]|has (?:joined|left|quit)(?: \(| IRC|$)"
    r"|is now known as |sets? mode|sets ban |changes topic |has (?:changed|set) the topic"
    r"|was kicked |has kicked |(?:gives|removes) (?:channel|voice|half|admin|owner|ban)))"
)
_CODES = re.compile(r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04[0-9A-Fa-f]{6}|[\x00-\x08\x0a-\x1f\x7f]")


def documents(path: Path) -> Iterator[str]:
    """Yield what was said in a log: `<nick> text` and `* nick waves`, one a line.

    A document ends with the file, the day or an hour without a word, or at 8000 characters. Time
    stamps, signs before nicks and colours are cut off; joins, parts, quits, nicks, modes, topics,
    notices and lines of no known shape are left out. A line that is not UTF-8 is Windows-1252, as
    clients take it.

    Raises:
        UserError: the file cannot be read, or none of its first 50 lines has a known shape.
    """
    talk: list[str] = []
    size = 0
    for line, pause in _spoken(path):
        if talk and (pause or size + len(line) >= plain.LONGEST):
            yield "\n".join(talk)
            talk, size = [], 0
        talk.append(line)
        size += len(line) + 1
    if talk:
        yield "\n".join(talk)


def is_like(path: Path) -> bool:
    """Whether most of the first lines of a file are a log's."""
    rows = plain.head(path).split(b"\n")[:FIRST_LINES]
    texts = [text for row in rows if (text := _clean(row))]
    known = [text for text in texts if _known(text)]
    return len(known) * 2 > len(texts) and any(map(_said, known))


def _spoken(path: Path) -> Iterator[tuple[str, bool]]:
    """What was said, and whether a day or a long silence lies before it."""
    first = ""
    unknown: int | None = 0
    clock = date = None
    pause = False
    for number, row in enumerate(plain.lines(path), start=1):
        text = _clean(row)
        if unknown is not None and text:
            first = first or f"line {number}: {text[:60]!r}"
            unknown = None if _known(text) else unknown + 1
            if unknown == FIRST_LINES:
                break
        pause = pause or bool(_MARKER.match(text))
        said = _said(text)
        if said is None:
            continue
        if stamp := _STAMP.match(text):
            now, day = _minutes(stamp), stamp["date"]
            if clock is not None:
                pause = pause or day != date or not 0 <= now - clock < SILENCE_MINUTES
            clock, date = now, day
        yield said, pause
        pause = False
    if unknown:
        raise UserError(
            f"{path}, {first} and the {unknown - 1} lines after it are no IRC log; a line such as"
            " `[12:34] <nick> text`, or as a common client writes it, is needed"
        )


def _clean(row: bytes) -> str:
    return _CODES.sub("", plain.mixed(row)).removeprefix("\ufeff").rstrip()


def _known(text: str) -> bool:
    return bool(_STAMP.match(text) or _MARKER.match(text) or _MESSAGE.match(text))


def _said(text: str) -> str | None:
    """A message or action as `<nick> text` or `* nick text`, or None for anything else."""
    stamp = _STAMP.match(text)
    rest = text[stamp.end() :] if stamp else text
    if match := _MESSAGE.match(rest):
        return f"<{match['nick']}> {match['text'].strip()}" if match["text"].strip() else None
    if stamp is None or _EVENT.match(rest):
        return None
    if match := _ACTION.match(rest):
        return f"* {match['nick']} {match['text'].strip()}"
    match = _COLUMNS.match(rest) or (None if stamp["bracket"] else _COLON.match(rest))
    return f"<{match['nick']}> {match['text'].strip()}" if match and match["text"].strip() else None


def _minutes(stamp: re.Match[str]) -> int:
    hour = int(stamp["hour"])
    if half := (stamp["half"] or "").strip().lower():
        hour = hour % 12 + 12 * (half == "pm")
    return 60 * hour + int(stamp["minute"])


FORMAT = plain.Format(documents, ENDINGS, is_like)
