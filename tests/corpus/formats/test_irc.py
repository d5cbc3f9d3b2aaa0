from __future__ import annotations

from pathlib import Path

import pytest

from andrea.common.errors import UserError
from andrea.corpus.formats import irc, plain

IRSSI = """\
--- Log opened Tue Nov 01 09:00:00 2011
09:00 -!- mara [~mara@host.example] has joined #garden
09:00 -!- Topic for #garden: seeds: and more
09:01 < mara> morning <all>
09:01 <@tove> hello: you
09:02  * mara waves at tove
09:02 -!- mode/#garden [+o mara] by tove
09:02 -tove:#garden- a notice
09:03 -!- mara is now known as maraway
09:04 <+maraway> bye
09:05 -!- maraway [~mara@host.example] has quit [Ping timeout]
--- Log closed Tue Nov 01 09:06:00 2011
"""
WEECHAT = """\
2011-11-01 09:00:00\t-->\tmara (~mara@host.example) has joined #garden
2011-11-01 09:00:01\t--\tTopic for #garden is "seeds: and more"
2011-11-01 09:01:00\tmara\tmorning <all>
2011-11-01 09:01:30\t@tove\thello: you
2011-11-01 09:02:00\t *\tmara waves at tove
2011-11-01 09:02:30\t--\tMode #garden [+o mara] by tove
2011-11-01 09:03:00\t--\tmara is now known as maraway
2011-11-01 09:04:00\t+maraway\tbye
2011-11-01 09:05:00\t<--\tmaraway (~mara@host.example) has quit (Ping timeout)
2011-11-01 09:05:00\t=!=\tirc: disconnected
"""
MIRC = """\

Session Start: Tue Nov 01 09:00:00 2011
Session Ident: #garden
[09:00] * Now talking in #garden
[09:00] * Topic is 'seeds: and more'
[09:00] * mara (~mara@host.example) has joined #garden
[09:01] <mara> \x0303,01morning\x03 <all>
[09:01] <@tove> \x02hello:\x0f you
[09:02] * mara waves at tove
[09:02] * tove sets mode: +o mara
[09:02] * tove changes topic to 'weeds'
[09:03] * mara is now known as maraway
[09:04] <+maraway> bye
[09:05] * Quits: maraway (~mara@host.example) (Ping timeout)
[09:05] * other (~o@host.example) Quit (Ping timeout)
[09:05] * noisy was kicked by tove (enough)
Session Close: Tue Nov 01 09:06:00 2011
"""
HEXCHAT = """\
**** BEGIN LOGGING AT Tue Nov  1 09:00:00 2011

Nov 01 09:00:00 *\tNow talking on #garden
Nov 01 09:00:00 *\tTopic for #garden is: seeds: and more
Nov 01 09:00:01 *\tmara (~mara@host.example) has joined
Nov 01 09:01:00 <mara>\tmorning <all>
Nov 01 09:01:30 <tove>\thello: you
Nov 01 09:02:00 *\tmara waves at tove
Nov 01 09:02:30 *\ttove gives channel operator status to mara
Nov 01 09:03:00 *\tmara is now known as maraway
Nov 01 09:04:00 <maraway>\tbye
Nov 01 09:05:00 *\tmaraway has quit (Ping timeout)
**** ENDING LOGGING AT Tue Nov  1 09:06:00 2011
"""
XCHAT = """\
**** BEGIN LOGGING AT Tue Nov  1 09:00:00 2011

Nov 01 09:00:01 -->\tmara (~mara@host.example) has joined #garden
Nov 01 09:01:00 <mara>\tmorning <all>
Nov 01 09:01:30 <tove>\thello: you
Nov 01 09:02:00 *\tmara waves at tove
Nov 01 09:03:00 ---\tmara is now known as maraway
Nov 01 09:04:00 <maraway>\tbye
Nov 01 09:05:00 <--\tmaraway has quit (Ping timeout)
"""
ZNC = """\
[09:00:00] *** Joins: mara (~mara@host.example)
[09:01:00] <mara> morning <all>
[09:01:30] <tove> hello: you
[09:02:00] * mara waves at tove
[09:02:30] *** tove sets mode: +o mara
[09:02:40] -tove- a notice
[09:03:00] *** mara is now known as maraway
[09:04:00] <maraway> bye
[09:05:00] *** Quits: maraway (~mara@host.example) (Ping timeout)
"""
ENERGYMECH = """\
[09:00:00] *** Joins: mara (~mara@host.example)
[09:01:00] <mara> morning <all>
[09:01:30] <tove> hello: you
[09:02:00] * mara waves at tove
[09:02:30] *** tove sets mode: +o mara
[09:03:00] *** Nick change: mara -> maraway
[09:04:00] <maraway> bye
[09:05:00] *** Parts: maraway (~mara@host.example)
"""
EGGDROP = """\
[00:00] --- Tue Nov  1 2011
[09:00] mara (~mara@host.example) joined #garden.
[09:01] <mara> morning <all>
[09:01] <tove> hello: you
[09:02] Action: mara waves at tove
[09:02] #garden: mode change '+o mara' by tove!~tove@host.example
[09:02] Topic changed on #garden by tove: weeds
[09:03] Nick change: mara -> maraway
[09:04] <maraway> bye
[09:05] maraway (~mara@host.example) left irc: Ping timeout
"""
TEXTUAL = """\
[2011-11-01T09:00:00+0000] mara (~mara@host.example) joined the channel
[2011-11-01T09:00:10+0000] Topic is seeds: and more
[2011-11-01T09:01:00+0000] <mara> morning <all>
[2011-11-01T09:01:30+0000] <@tove> hello: you
[2011-11-01T09:02:00+0000] • mara: waves at tove
[2011-11-01T09:02:30+0000] tove sets mode +o mara
[2011-11-01T09:03:00+0000] mara is now known as maraway
[2011-11-01T09:04:00+0000] <maraway> bye
[2011-11-01T09:05:00+0000] maraway left IRC (Ping timeout)
"""
LIMECHAT = """\
09:00 mara has joined (~mara@host.example)
09:01 mara: morning <all>
09:01 @tove: hello: you
09:02 • mara: waves at tove
09:02 tove has changed mode: +o mara
09:03 mara is now known as maraway
09:04 maraway: bye
09:05 maraway has left IRC (Ping timeout)
"""
SUPYBOT = """\
2011-11-01T09:00:00  *** mara <~mara@host.example> has joined #garden
2011-11-01T09:01:00  <mara> morning <all>
2011-11-01T09:01:30  <tove> hello: you
2011-11-01T09:02:00  * mara waves at tove
2011-11-01T09:03:00  *** mara is now known as maraway
2011-11-01T09:04:00  <maraway> bye
2011-11-01T09:05:00  *** maraway <~mara@host.example> has quit IRC
"""
LIBERA = """\
=== mara [~mara@host.example] has joined #garden
[09:01] <mara> morning <all>
[09:01] <tove> hello: you
[09:02] * mara waves at tove
=== mara is now known as maraway
[09:04] <maraway> bye
=== maraway [~mara@host.example] has quit [Ping timeout]
"""
TALK = "<mara> morning <all>\n<tove> hello: you\n* mara waves at tove\n<maraway> bye"
LOGS = {
    "irssi": IRSSI, "weechat": WEECHAT, "mirc": MIRC, "hexchat": HEXCHAT, "xchat": XCHAT,
    "znc": ZNC, "energymech": ENERGYMECH, "eggdrop": EGGDROP, "textual": TEXTUAL,
    "limechat": LIMECHAT, "supybot": SUPYBOT, "libera": LIBERA,
}  # fmt: skip


def write(folder: Path, text: str, name: str = "garden.log") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8", newline="")
    return file


@pytest.mark.parametrize("client", LOGS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_client_says_the_same(tmp_path: Path, client: str, end: str) -> None:
    file = write(tmp_path, LOGS[client].replace("\n", end))
    assert list(irc.FORMAT.read(file)) == [TALK]
    assert irc.FORMAT.looks_like(file)
    assert irc.FORMAT.looks_like(tmp_path)


def test_an_action_that_speaks_of_joining_stays(tmp_path: Path) -> None:
    file = write(tmp_path, "[09:00] * mara has left the oven on\n[09:00] * tove sets the table\n")
    assert list(irc.FORMAT.read(file)) == ["* mara has left the oven on\n* tove sets the table"]


def test_an_hour_of_silence_ends_a_document(tmp_path: Path) -> None:
    text = "[09:00] <a> one\n[09:59] <b> two\n[10:30] * Joins: c (h)\n[10:59] <a> three\n"
    assert list(irc.FORMAT.read(write(tmp_path, text))) == ["<a> one\n<b> two", "<a> three"]


@pytest.mark.parametrize(
    "between",
    ["", "--- Day changed Wed Nov 02 2011\n", "00:00 --- Wed Nov  2 2011\n"],
)
def test_a_new_day_ends_a_document(tmp_path: Path, between: str) -> None:
    text = f"23:59 <a> one\n{between}00:01 <b> two\n"
    assert list(irc.FORMAT.read(write(tmp_path, text))) == ["<a> one", "<b> two"]


def test_a_new_date_at_the_same_time_ends_a_document(tmp_path: Path) -> None:
    text = "2011-11-01 09:00:00\ta\tone\n2011-11-02 09:00:10\tb\ttwo\n"
    assert list(irc.FORMAT.read(write(tmp_path, text))) == ["<a> one", "<b> two"]


def test_noon_comes_after_morning(tmp_path: Path) -> None:
    text = "[11:30 AM] <a> one\n[12:15 PM] <b> two\n[01:05 PM] <a> three\n[02:30 AM] <b> four\n"
    assert list(irc.FORMAT.read(write(tmp_path, text))) == [
        "<a> one\n<b> two\n<a> three",
        "<b> four",
    ]


def test_long_talk_is_cut_between_lines(tmp_path: Path) -> None:
    lines = [f"<nick{n % 3}> line {n} of the talk" for n in range(2000)]
    documents = list(irc.FORMAT.read(write(tmp_path, "".join(f"[09:00] {x}\n" for x in lines))))
    assert "\n".join(documents).split("\n") == lines
    assert all(len(document) <= plain.LONGEST for document in documents)
    assert len(documents) < 10


def test_old_encodings_are_read_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "old.log"
    file.write_bytes("[09:00] <a> caf\xe9\n".encode("cp1252") + "[09:00] <b> café\n".encode())
    assert list(irc.FORMAT.read(file)) == ["<a> café\n<b> café"]


def test_what_is_no_log_is_named(tmp_path: Path) -> None:
    file = write(tmp_path, "\nDear all,\n" + "this is a letter.\n" * 60, "letter.txt")
    assert not irc.FORMAT.looks_like(file)
    with pytest.raises(UserError, match=r"letter\.txt, line 2: 'Dear all,' and the 49 lines after"):
        list(irc.FORMAT.read(file))


def test_a_short_file_that_is_no_log_is_named(tmp_path: Path) -> None:
    file = write(tmp_path, "Dear all,\n", "letter.txt")
    with pytest.raises(UserError, match=r"letter\.txt, line 1: 'Dear all,' .*is needed"):
        list(irc.FORMAT.read(file))


def test_lines_of_no_known_shape_are_left_out(tmp_path: Path) -> None:
    text = "[09:00] <a> one\npasted without a stamp\n[09:01] <b> \n[09:02] <b> two\n"
    assert list(irc.FORMAT.read(write(tmp_path, text))) == ["<a> one\n<b> two"]


def test_prose_with_times_is_no_log(tmp_path: Path) -> None:
    text = "09:00 We left.\n10:00 We came back, and that was all.\n"
    assert not irc.FORMAT.looks_like(write(tmp_path, text, "diary.txt"))
